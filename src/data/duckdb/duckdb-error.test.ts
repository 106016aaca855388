import assert from "node:assert/strict";
import { test } from "node:test";
import { isFatal, isInterrupt, translateDuckDbError } from "./duckdb-error.ts";

const invalidated = "database has been invalidated because of a previous fatal error";

/** DuckDB's errors with `errors_as_json`. */
const fatal = [
  `{"exception_type":"FATAL","exception_message":"${invalidated}"}`,
  `FATAL Error: {"exception_type":"FATAL","exception_message":"${invalidated}"}`,
  `FATAL Error: ${invalidated}`,
  'FATAL Error: {"exception_type":"Parser"}',
];
for (const message of fatal) {
  test(`[QU48] the instance is broken: ${message}`, () => {
    assert.equal(isFatal(new Error(message)), true);
    assert.equal(isFatal(translateDuckDbError(new Error(message))), true, "also when translated");
  });
}

const harmless = [
  `{"exception_type":"Invalid Input","exception_message":"${invalidated}"}`,
  'Invalid Input Error: {"exception_type":"FATAL","exception_message":"x"}',
  'Invalid Input Error: {"exception_type":"INTERRUPT","exception_message":"x"}',
  `Invalid Input Error: FATAL Error: ${invalidated}`,
  '{"exception_type":"Invalid Input","exception_message":"{\\"exception_type\\":\\"FATAL\\"}"}',
  "Unexpected token 'I', ...FATAL Error: ... is not valid JSON",
];
for (const message of harmless) {
  test(`[QU48] a person's text breaks nothing: ${message}`, () => {
    assert.equal(isFatal(new Error(message)), false);
    assert.equal(isFatal(translateDuckDbError(new Error(message))), false);
    assert.equal(isInterrupt(new Error(message)), false);
  });
}

test("[QU44] a full disk does not tell where the files are", () => {
  const thrown = new Error(
    '{"exception_type":"IO","exception_message":"Could not write file \\"/data/w/x.parquet\\": No space left on device"}',
  );
  const { code, message } = translateDuckDbError(thrown);
  assert.equal(code, "disk_full");
  assert.equal(message, 'IO Error: Could not write file "x.parquet": No space left on device');
});

test("[QU44] too little memory is told without advice that nobody can follow, and with advice that one can", () => {
  const thrown = new Error(
    "Out of Memory Error: failed to allocate 8.0 GiB\n\nPossible solutions:\n* Reducing the number of threads (SET threads=X)",
  );
  const { code, message, hint } = translateDuckDbError(thrown);
  assert.equal(code, "statement_too_large");
  assert.equal(message, "Out of Memory Error: failed to allocate 8.0 GiB");
  assert.match(hint ?? "", /--memory-limit/);
});
