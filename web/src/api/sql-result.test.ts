import assert from "node:assert/strict";
import { test } from "node:test";
import { rowsKeptMax, SqlResultReader } from "./sql-result.ts";

const head = '{"query_id":"q1","columns":[{"name":"n","type":"BIGINT"}]}\n';
const tail =
  '{"summary":{"row_count":2,"duration_ms":3,"worker_id":"worker-1","artifact_bytes":99}}\n';

function read(text: string, cut = text.length): SqlResultReader {
  const reader = new SqlResultReader();
  reader.push(text.slice(0, cut));
  reader.push(text.slice(cut));
  reader.end();
  return reader;
}

test("[WEB2] columns, rows and summary are read, wherever the stream is cut", () => {
  const text = `${head}[1]\n["a\\nb"]\n${tail}`;
  for (let cut = 0; cut <= text.length; cut += 1) {
    const { queryId, rows, rowCount, summary, failure } = read(text, cut);
    assert.deepEqual(
      { queryId, rows, rowCount, count: summary?.row_count, failure },
      { queryId: "q1", rows: [[1], ["a\nb"]], rowCount: 2, count: 2, failure: undefined },
    );
  }
});

test("[WEB2] numbers beyond a double keep their digits", () => {
  const row = "[9223372036854775807,0.10,1.5,-0.0,123456789012345678901234567890.123,null,true]";
  assert.deepEqual(read(`${head}${row}\n${tail}`).rows[0], [
    "9223372036854775807",
    "0.10",
    1.5,
    "-0.0",
    "123456789012345678901234567890.123",
    null,
    true,
  ]);
});

test("[WEB2] rows beyond the limit are counted and not kept", () => {
  const reader = read(head + "[1]\n".repeat(rowsKeptMax + 7) + tail);
  assert.equal(reader.rows.length, rowsKeptMax);
  assert.equal(reader.rowCount, rowsKeptMax + 7);
});

test("[WEB2] an error after the start is a failure with its hint", () => {
  const reader = read(`${head}[1]\n{"error":{"code":"cancelled","message":"m","hint":"h"}}\n`);
  assert.deepEqual(reader.failure, { code: "cancelled", message: "m", hint: "h" });
});

test("[WEB2] a stream without a summary is never taken for a whole result", () => {
  assert.equal(read(`${head}[1]\n`).failure?.code, "cut_off");
});
