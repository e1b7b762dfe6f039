"""Validates JSON documents against schemas: pairs of files, SCHEMA DOCUMENT SCHEMA DOCUMENT ...

A document may hold several as lines. Exits 1 and names every mistake."""

import json
import sys

import jsonschema

wrong = 0
paths = sys.argv[1:]
for schema_path, path in zip(paths[::2], paths[1::2], strict=True):
    with open(schema_path) as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    with open(path) as file:
        document = json.load(file)
    for mistake in jsonschema.Draft202012Validator(schema).iter_errors(document):
        print(f"{path}: {mistake.json_path}: {mistake.message[:300]}")
        wrong += 1
sys.exit(wrong > 0)
