import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { translateFileError } from "./object-errors.ts";
import { translateS3Error } from "./s3-errors.ts";

function s3Error(name: string, status?: number, message = "no"): Error {
  const metadata = status === undefined ? {} : { $metadata: { httpStatusCode: status } };
  return Object.assign(new Error(message), { name }, metadata);
}

const fileError = (code: string): Error => Object.assign(new Error(`${code}: no`), { code });

const cases: readonly (readonly [thrown: Error, code: string, retry: string, hint?: RegExp])[] = [
  [s3Error("NoSuchKey", 404), "not_found", "never", /behind the lake's back/],
  [s3Error("NotFound", 404), "not_found", "never"],
  [s3Error("NoSuchBucket", 404), "store_unavailable", "never", /Make the bucket/],
  [s3Error("AccessDenied", 403), "store_unavailable", "never", /credentials do not allow/],
  [s3Error("SignatureDoesNotMatch", 403), "store_unavailable", "never", /secret key/],
  [s3Error("RequestTimeTooSkewed", 403), "store_unavailable", "never", /clock/],
  [s3Error("CredentialsProviderError"), "store_unavailable", "never", /AWS_ACCESS_KEY_ID/],
  [s3Error("Error", undefined, "Region is missing"), "store_unavailable", "never", /AWS_REGION/],
  [s3Error("PermanentRedirect", 301), "store_unavailable", "never", /region=/],
  [s3Error("SlowDown", 503), "store_unavailable", "backoff"],
  [s3Error("InternalError", 500), "store_unavailable", "backoff"],
  [s3Error("RequestTimeout", 400), "store_unavailable", "backoff"],
  [s3Error("InvalidRequest", 400), "store_unavailable", "never"],
  [s3Error("TimeoutError"), "store_unavailable", "backoff"],
  [fileError("ECONNREFUSED"), "store_unavailable", "backoff"],
  [s3Error("AbortError"), "cancelled", "never"],
  [fileError("ENOSPC"), "disk_full", "backoff"],
];
for (const [thrown, code, retry, hint] of cases) {
  const what = "code" in thrown ? thrown.message : thrown.name;
  test(`[LO12] ${what}, ${thrown.message}: ${code}, ${retry}`, () => {
    const error = translateS3Error(thrown, "s3://bucket/lake/x");
    assert.deepEqual([error.code, error.retry], [code, retry]);
    assert.match(error.message, /s3:\/\/bucket\/lake\/x/);
    if (hint !== undefined) assert.match(error.hint ?? "", hint);
  });
}

test("[LO12] whatever a cancelled request fails with, it was cancelled", () => {
  const signal = AbortSignal.abort();
  assert.equal(translateS3Error(fileError("ECONNRESET"), "s3://b/x", signal).code, "cancelled");
});

const fileCases = [
  ["ENOENT", "not_found", "never"],
  ["ENOTDIR", "not_found", "never"],
  ["ENOSPC", "disk_full", "backoff"],
  ["EDQUOT", "disk_full", "backoff"],
  ["EFBIG", "disk_full", "backoff"],
  ["EROFS", "store_unavailable", "never"],
  ["EACCES", "store_unavailable", "never"],
  ["EIO", "store_unavailable", "backoff"],
] as const;
for (const [fault, code, retry] of fileCases) {
  test(`[LO5] ${fault} on the disk: ${code}, ${retry}`, () => {
    const error = translateFileError(fileError(fault), "main/orders/x.parquet");
    assert.deepEqual([error.code, error.retry], [code, retry]);
    assert.match(error.message, /main\/orders\/x\.parquet/);
  });
}

test("[LO5] what is said already is not said anew", () => {
  const error = new OperatingError("disk_full", "backoff", "full");
  assert.equal(translateFileError(error, "x"), error);
  assert.equal(translateS3Error(error, "x"), error);
});
