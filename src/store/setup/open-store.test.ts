import assert from "node:assert/strict";
import { test } from "node:test";
import { parseStoreUrl } from "./open-store.ts";

const accepted: readonly [text: string, want: object][] = [
  ["sqlite:/var/lib/capstan/store.db", { kind: "sqlite", path: "/var/lib/capstan/store.db" }],
  ["sqlite:store.db", { kind: "sqlite", path: "store.db" }],
  ["./store.db", { kind: "sqlite", path: "./store.db" }],
  ["C:\\capstan\\store.db", { kind: "sqlite", path: "C:\\capstan\\store.db" }],
  ["postgres://u:p@h:5432/d", { kind: "postgres", url: "postgres://u:p@h:5432/d" }],
  ["postgresql://h/d", { kind: "postgres", url: "postgresql://h/d" }],
];
for (const [text, want] of accepted) {
  test(`[ST55] ${text} is a ${JSON.stringify(want)}`, () => {
    assert.deepEqual(parseStoreUrl(text), want);
  });
}

for (const text of ["", "sqlite:", "mysql://h/d", "http://h"]) {
  test(`[ST55] ${JSON.stringify(text)} is no store`, () => {
    assert.throws(() => parseStoreUrl(text), { code: "bad_request", hint: /sqlite:PATH/ });
  });
}
