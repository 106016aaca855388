import assert from "node:assert/strict";
import { test } from "node:test";
import { linesOf } from "../../../ground/command/client/lines.ts";
import { sseEvents } from "../../../ground/command/client/sse-events.ts";
import { cellText, parseExactJson } from "./exact-json.ts";

const rows = [
  ["9223372036854775807", "9223372036854775807"],
  ["170141183460469231731687303715884105727", "170141183460469231731687303715884105727"],
  ["12345678901234567890.123456789", "12345678901234567890.123456789"],
  ["0.1", "0.1"],
  ["1e300", "1e300"],
  ['"text"', "text"],
  ["null", "NULL"],
  ["true", "true"],
  ['{"a":[9223372036854775807]}', '{"a":[9223372036854775807]}'],
] as const;

for (const [sent, shown] of rows) {
  test(`[CM6] ${sent} is shown with every digit`, () => {
    const [value] = parseExactJson(`[${sent}]`) as unknown[];
    assert.equal(cellText(value, "NULL"), shown);
  });
}

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const value of values) collected.push(value);
  return collected;
}

async function* chunks(...parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}

test("[CM6] lines come whole, however they were cut", async () => {
  const bytes = Buffer.from("ä\nbc\r\nd");
  async function* each(): AsyncGenerator<Uint8Array> {
    for (const byte of bytes) yield Uint8Array.of(byte);
  }
  assert.deepEqual(await all(linesOf(each())), ["ä", "bc", "d"]);
});

test("[CM7] events come with their ids, comments do not", async () => {
  const stream = chunks(
    ": hi\n\nevent: CREATE\nid: 7\ndata: {",
    '"a":1}\n\n',
    "id: 8\ndata: x\n\n",
  );
  assert.deepEqual(await all(sseEvents(linesOf(stream))), [
    { event: "CREATE", id: "7", data: '{"a":1}' },
    { event: "message", id: "8", data: "x" },
  ]);
});
