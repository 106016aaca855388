/** Translates errors of S3 and of the network. */
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import { cancelled, codeOf, isAbort, missing, translateFileError } from "./object-errors.ts";

const diskCodes: readonly (string | undefined)[] = ["ENOSPC", "EDQUOT", "EFBIG", "EACCES", "EROFS"];

const refusals: Readonly<Record<string, string>> = {
  AccessDenied:
    "The credentials do not allow this: reading, writing, listing and deleting are needed.",
  ExpiredToken: "The session's credentials have expired; renew them.",
  InvalidAccessKeyId: "The access key is unknown there; is it of this account and endpoint?",
  SignatureDoesNotMatch: "The secret key does not match the access key.",
  RequestTimeTooSkewed: "This machine's clock is wrong.",
};

/** `place` has the form `s3://bucket/key`. */
export function translateS3Error(
  thrown: unknown,
  place: string,
  signal?: AbortSignal,
): OperatingError {
  if (thrown instanceof OperatingError) return thrown;
  if (signal?.aborted === true || isAbort(thrown)) return cancelled(place);
  if (diskCodes.includes(codeOf(thrown))) return translateFileError(thrown, place);
  const { name, status } = s3ErrorOf(thrown);
  const say = (retry: "never" | "backoff", text: string, hint?: string): OperatingError =>
    new OperatingError("store_unavailable", retry, `${place}: ${text}`, {
      cause: thrown,
      ...(hint === undefined ? {} : { hint }),
    });
  if (name === "NoSuchBucket") {
    const hint = "Make the bucket, or correct the lake's address.";
    return say("never", "there is no such bucket", hint);
  }
  if (isMissingKey(thrown)) return missing(place, thrown);
  if (name === "CredentialsProviderError") {
    const hint = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a profile or a role.";
    return say("never", "there are no credentials for it", hint);
  }
  if (/region is missing/i.test(messageOf(thrown))) {
    return say("never", "its region is not known", "Say ?region=… or set AWS_REGION.");
  }
  if (status === 301 || name === "AuthorizationHeaderMalformed") {
    return say("never", "it is in another region", "Say ?region=… in the lake's address.");
  }
  const text = `${name === "" ? "" : `${name}: `}${messageOf(thrown)}`;
  if (status !== undefined && status >= 400 && status < 500 && !passes(status, name)) {
    return say("never", text, refusals[name]);
  }
  return say("backoff", text);
}

export function isMissingKey(thrown: unknown): boolean {
  const { name, status } = s3ErrorOf(thrown);
  return name === "NoSuchKey" || name === "NotFound" || (status === 404 && name === "UnknownError");
}

/** Whether the upload no longer exists, because it was completed or aborted. */
export function isMissingUpload(thrown: unknown): boolean {
  return s3ErrorOf(thrown).name === "NoSuchUpload";
}

/** Whether a 4xx error is temporary. */
function passes(status: number, name: string): boolean {
  return status === 408 || status === 429 || name === "RequestTimeout" || name === "SlowDown";
}

function s3ErrorOf(thrown: unknown): { readonly name: string; readonly status?: number } {
  if (!(thrown instanceof Error)) return { name: "" };
  const metadata: unknown = "$metadata" in thrown ? thrown.$metadata : undefined;
  if (typeof metadata !== "object" || metadata === null) return { name: thrown.name };
  const status = "httpStatusCode" in metadata ? metadata.httpStatusCode : undefined;
  return typeof status === "number" ? { name: thrown.name, status } : { name: thrown.name };
}
