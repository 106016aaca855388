import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { decideLakePlaces, parseLakeUrl, showLakeLocation } from "./lake-url.ts";

const plain = {
  kind: "s3",
  bucket: "my-bucket",
  prefix: "",
  region: undefined,
  endpoint: undefined,
};

const cases: readonly (readonly [text: string, want: unknown])[] = [
  ["data/lake", { kind: "directory", root: resolve("data/lake") }],
  ["/data/lake/", { kind: "directory", root: "/data/lake" }],
  ["./odd?name", { kind: "directory", root: resolve("odd?name") }],
  ["file:///data/my%20lake", { kind: "directory", root: "/data/my lake" }],
  ["s3://my-bucket", plain],
  ["s3://my-bucket/", plain],
  ["S3://my-bucket/a/b/", { ...plain, prefix: "a/b" }],
  [
    "s3://my-bucket/größe?region=eu-central-1",
    { ...plain, prefix: "größe", region: "eu-central-1" },
  ],
  [
    "s3://my-bucket/a?endpoint=http://127.0.0.1:9000&region=x",
    { ...plain, prefix: "a", region: "x", endpoint: "http://127.0.0.1:9000" },
  ],
  [
    "s3://my-bucket?endpoint=https%3A%2F%2Fminio.example",
    { ...plain, endpoint: "https://minio.example" },
  ],
];
for (const [text, want] of cases) {
  test(`[LO14] ${text}`, () => assert.deepEqual(parseLakeUrl(text), want));
}

const refused = [
  "",
  "s3://",
  "s3:bucket/x",
  "s3://UPPER/x",
  "s3://b..b/x",
  "s3://my-bucket/../x",
  "s3://my-bucket/a//b",
  "s3://my-bucket/a?colour=red",
  "s3://my-bucket/a?region=EU!",
  "s3://my-bucket/a?endpoint=ftp://x",
  "s3://my-bucket/a?endpoint=http://user:secret@x",
  "s3://my-bucket/a#b",
  "s3://key:secret@my-bucket/a",
  "gs://my-bucket/a",
  "https://my-bucket.s3.amazonaws.com/a",
  "file://other-host/x",
  `s3://my-bucket/${"x/".repeat(150)}`,
];
for (const text of refused) {
  test(`[LO14] ${text.slice(0, 60)} is refused`, () => {
    assert.throws(
      () => parseLakeUrl(text),
      (thrown: unknown) => {
        assert.ok(thrown instanceof Error && "code" in thrown && thrown.code === "bad_request");
        assert.ok(!thrown.message.includes("secret"), "secrets are not repeated");
        return true;
      },
    );
  });
}

test("[LO14] a location is shown as people write it", () => {
  assert.equal(showLakeLocation(parseLakeUrl("/data/lake")), "/data/lake");
  assert.equal(showLakeLocation(parseLakeUrl("s3://my-bucket/?region=x")), "s3://my-bucket");
  assert.equal(showLakeLocation(parseLakeUrl("s3://my-bucket/a/b")), "s3://my-bucket/a/b");
});

test("[LO14] metrics are beside the tables, or in a directory of their own", () => {
  const own = "/data/lake";
  const inS3 = { ...plain, prefix: "a" };
  const cases = [
    [{}, { kind: "directory", root: own }, own],
    [{ lake: "/lake" }, { kind: "directory", root: "/lake" }, "/lake"],
    [{ lake: "/lake", metricsDir: "/m" }, { kind: "directory", root: "/lake" }, "/m"],
    [{ lake: "s3://my-bucket/a" }, inS3, own],
    [{ lake: "s3://my-bucket/a", metricsDir: "/m" }, inS3, "/m"],
  ] as const;
  for (const [told, tables, metricsDir] of cases) {
    assert.deepEqual(decideLakePlaces(told, own), { tables, metricsDir });
  }
});
