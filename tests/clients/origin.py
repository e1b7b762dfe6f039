"""Reads bills of materials and statements of origin with the libraries of those who define them.

origin.py sbom FILE...        each by the strict schema of CycloneDX 1.6
origin.py provenance FILE     an in-toto statement that states SLSA provenance; prints names and digests of its subjects
"""

import json
import sys
from pathlib import Path


def sbom(paths):
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    validator = JsonStrictValidator(SchemaVersion.V1_6)
    wrong = {path: str(error) for path in paths if (error := validator.validate_str(Path(path).read_text()))}
    sys.exit(f"not valid: {wrong}" if wrong else 0)


def provenance(path):
    from google.protobuf import json_format
    from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
    from in_toto_attestation.v1 import statement_pb2
    from in_toto_attestation.v1.statement import Statement

    read = json_format.Parse(Path(path).read_text(), statement_pb2.Statement())
    Statement.copy_from_pb(read).validate()
    if read.predicate_type != "https://slsa.dev/provenance/v1":
        sys.exit(f"states {read.predicate_type}")
    # Fields that SLSA does not know are an error.
    predicate = json_format.ParseDict(json_format.MessageToDict(read.predicate), provenance_pb2.Provenance())
    if not predicate.build_definition.build_type or not predicate.run_details.builder.id:
        sys.exit("it lacks the type of the build or the builder")
    print(json.dumps({subject.name: subject.digest["sha256"] for subject in read.subject}))


if __name__ == "__main__":
    {"sbom": lambda: sbom(sys.argv[2:]), "provenance": lambda: provenance(sys.argv[2])}[sys.argv[1]]()
