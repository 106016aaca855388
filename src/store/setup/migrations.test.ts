import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { readMigrations } from "./migrations.ts";

/** SHA-256 of the files that data directories were set up with. A new file is added here when it lands. */
const landed: readonly [name: string, digest: string][] = [
  ["001-control-store.sql", "f140c31ef5bfc4e3f5b07652e0eae43f4da1b0d0f2264d43d81bf9c6b5701ab5"],
  ["002-metrics.sql", "03341d68165ae499c9389cabf637eba364348b8ca0b82c2fcccb32e004941081"],
  ["003-lake.sql", "da8b04ceb81c86e6281672cc01b82c096d229f5e527b360d569324f00f8b9144"],
  ["004-tables.sql", "266045aa0ab4fc72bd62a7d14d767c0cf61039c35c0b4779e384816466e4167a"],
  ["005-load.sql", "8d9efbe19ae4a7ed049dadb0597eff60bfacd077655928cfa9f3d2ffc5d8d656"],
  ["006-expected-response.sql", "cf7823404ff27be8fe6891edae0cfd71664f18f103cb1e8f59a8369bc6be782c"],
  ["007-load-processes.sql", "295f8f93f84f96e1656a851298df11593f990e034f0ac3cedfffd9a1c4daeb28"],
];

test("[ST56] schema files that have landed are as they were", () => {
  const files = readMigrations().map(({ name, text }) => [
    name,
    createHash("sha256").update(text).digest("hex"),
  ]);
  assert.deepEqual(files, landed);
});
