"""Validates JSON on standard input against a JSON schema: schema.py SCHEMA.

Prints every violation with its place. Exit codes: 0 valid, 1 not.
"""

import json
import pathlib
import sys

import jsonschema


def main():
    schema = json.loads(pathlib.Path(sys.argv[1]).read_text())
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    checker = validator.FORMAT_CHECKER
    errors = list(validator(schema, format_checker=checker).iter_errors(json.load(sys.stdin)))
    for error in errors:
        print(f"{error.json_path}: {error.message[:300]}", file=sys.stderr)
    return 1 if errors else 0


sys.exit(main())
