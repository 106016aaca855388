import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../kernel/errors.ts";
import { parseStoreUrl } from "./open-store.ts";

const accepted: readonly [text: string, want: object][] = [
  ["sqlite:/var/lib/capstan/store.db", { kind: "sqlite", path: "/var/lib/capstan/store.db" }],
  ["sqlite:store.db", { kind: "sqlite", path: "store.db" }],
  ["./store.db", { kind: "sqlite", path: "./store.db" }],
  ["C:\\capstan\\store.db", { kind: "sqlite", path: "C:\\capstan\\store.db" }],
  ["postgres://u:p@h:5432/d", { kind: "postgres", url: "postgres://u:p@h:5432/d" }],
  ["postgresql://h/d", { kind: "postgres", url: "postgresql://h/d" }],
  ["postgres:///d", { kind: "postgres", url: "postgres:///d" }],
  ["postgres://u@/d?host=/run/pg", { kind: "postgres", url: "postgres://u@/d?host=/run/pg" }],
  ["postgres://u:p%40@[::1]/d", { kind: "postgres", url: "postgres://u:p%40@[::1]/d" }],
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

const secret = [
  "postgres://u:hunter2@[bad/x",
  "postgres://u:hunter2@h:99999/x",
  "postgres://u:hunter2%zz@h/x",
  "postgre://u:hunter2@h/x",
  "sqlite:mysql://u:hunter2@h/x",
];
for (const text of secret) {
  test(`[ST55] ${JSON.stringify(text)} is refused without showing its password`, () => {
    assert.throws(
      () => parseStoreUrl(text),
      (thrown: unknown) => {
        assert.ok(thrown instanceof OperatingError);
        assert.equal(thrown.code, "bad_request");
        assert.doesNotMatch(`${thrown.stack} ${thrown.hint} ${thrown.cause}`, /hunter2/);
        return true;
      },
    );
  });
}
