import assert from "node:assert/strict";
import { test } from "node:test";
import { foreignHost } from "./foreign-host.ts";

const cases = [
  { url: "postgres://me@localhost/x", want: undefined },
  { url: "postgres://127.0.0.2:5432/x", want: undefined },
  { url: "mysql://me@[::1]/x", want: undefined },
  { url: "sqlite:demo.db", want: undefined },
  { url: "duckdb:///tmp/x.db", want: undefined },
  { url: "postgres:///x?host=/tmp", want: undefined },
  { url: "postgres://allowed.example/x", want: undefined },
  { url: "postgres://me@db.example:5432/x", want: "db.example" },
  { url: "https://api.example/v1", want: "api.example" },
  { url: "not a url", want: undefined },
];
for (const { url, want } of cases) {
  test(`[WEB54] who is loaded beyond this machine is asked for: ${url}`, () => {
    assert.equal(foreignHost(url, ["allowed.example"]), want);
  });
}
