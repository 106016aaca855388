import assert from "node:assert/strict";
import { test } from "node:test";
import { SseParser } from "./sse.ts";

const stream =
  'event: SNAPSHOT\nid: 7\ndata: {"a":1}\n\n: keep-alive\n\nevent: UPDATE\ndata: one\ndata: two\n\ndata: bare\n\n';
const want = [
  { event: "SNAPSHOT", id: "7", data: '{"a":1}' },
  { event: "UPDATE", id: undefined, data: "one\ntwo" },
  { event: "message", id: undefined, data: "bare" },
];

test("[WEB1] events are read, comments are skipped", () => {
  assert.deepEqual(new SseParser().push(stream), want);
});

test("[WEB1] a stream may be cut anywhere", () => {
  for (let cut = 0; cut <= stream.length; cut += 1) {
    const parser = new SseParser();
    const got = [...parser.push(stream.slice(0, cut)), ...parser.push(stream.slice(cut))];
    assert.deepEqual(got, want, `cut at ${cut}`);
  }
});

test("[WEB1] line ends may be CRLF", () => {
  assert.deepEqual(new SseParser().push(stream.replaceAll("\n", "\r\n")), want);
});
