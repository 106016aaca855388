import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { readMigrations } from "./migrations.ts";

/** SHA-256 of each released schema file. A new file is added here when it lands. */
const landed: readonly [name: string, digest: string][] = [
  ["001-control-store.sql", "f140c31ef5bfc4e3f5b07652e0eae43f4da1b0d0f2264d43d81bf9c6b5701ab5"],
  ["002-metrics.sql", "03341d68165ae499c9389cabf637eba364348b8ca0b82c2fcccb32e004941081"],
  ["003-lake.sql", "da8b04ceb81c86e6281672cc01b82c096d229f5e527b360d569324f00f8b9144"],
  ["004-tables.sql", "266045aa0ab4fc72bd62a7d14d767c0cf61039c35c0b4779e384816466e4167a"],
  ["005-load.sql", "8d9efbe19ae4a7ed049dadb0597eff60bfacd077655928cfa9f3d2ffc5d8d656"],
  ["006-expected-response.sql", "cf7823404ff27be8fe6891edae0cfd71664f18f103cb1e8f59a8369bc6be782c"],
  ["007-load-processes.sql", "295f8f93f84f96e1656a851298df11593f990e034f0ac3cedfffd9a1c4daeb28"],
  [
    "008-load-logs-and-steps.sql",
    "0d6a71eeebd8c192720019e066e516c05c945440110fb2d2b82de04ea67a8fca",
  ],
  ["009-file-checksums.sql", "5802d5a6fc8285ea86a57f4ab3a6a58a0516cac0f9844c90381caefb5f3d7095"],
  ["010-refresh-healing.sql", "e419608fc902ce10db6a1649d216928913188a358e1a5d77a7aef5cd95ec8f7b"],
  ["011-lake-identity.sql", "f29a4f347389c7cb321d6a17c80ddaf83b5f31ff4c89a6cf0d556269836b4973"],
  ["012-load-verdict.sql", "7e133eb7934e4af002db7c4b230119629b9de7a99f619b0fe92cff5ff01af111"],
  ["013-run-value-pools.sql", "c026ce1d5ebdb3ef79aea6c18555b44657765b3e8f3590175642f1a5f5489cbe"],
  [
    "014-stream-checkpoints.sql",
    "b14940810b436aa4d74ebe6d1056e7519be33984b11dfb46ee553463de6eadc5",
  ],
  ["015-stream-catalog.sql", "b268ee2451e1f0568695973524a95876f9ee6bbb9f9b89baa87a5b7f9bbf38d8"],
  ["016-stream-secrets.sql", "0abb40468a099f7c83386c4c6bbf0bc74b50f98a88b01165eb9ae339b6baa140"],
  ["017-query-checkpoints.sql", "9b8a4d150fc924edafbda43cfdde4101649213876f42bf9f8936412928b3af9a"],
  [
    "018-query-replacements.sql",
    "5df0ebb785bb0d8c8e243012308e09132405195d49382afc54354f04b8539438",
  ],
  ["019-query-previews.sql", "2ddd7f5c1287cd1f4185cb678f04477c0e6ed4727029852cc000d1eafbb14ca4"],
  ["020-savepoints.sql", "44dea906acb9af971b73eefb47b1d29df4b0a7cbe9e8484a7ec9f31104f4bd7d"],
  ["021-query-lake-sinks.sql", "c9b8ca2512d79a13ac2ef8ff612d68b6b0cbb695bc607d74a5331873e0885971"],
];

test("[ST56] schema files that have landed are as they were", () => {
  const files = readMigrations().map(({ name, text }) => [
    name,
    createHash("sha256").update(text).digest("hex"),
  ]);
  assert.deepEqual(files, landed);
});
