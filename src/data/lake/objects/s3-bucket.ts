/** A connection to one bucket, shared by uploads, downloads and the store. */
import type { S3Client } from "@aws-sdk/client-s3";
import type { Clock } from "../../../ground/kernel/clock.ts";
import type { S3Location } from "./lake-url.ts";
import { Limiter } from "./limiter.ts";

export interface S3Limits {
  /** The size of a part, and of the largest single-request upload. S3's minimum is 5 MiB. */
  readonly partBytes: number;
  /** Concurrent transfers of bodies. An upload holds `partBytes` of memory for each. */
  readonly transfersAtOnceMax: number;
  /** Attempts of a request, and of a broken download. */
  readonly attemptsMax: number;
  readonly connectMsMax: number;
  /** The time until the answer begins. */
  readonly answerMsMax: number;
  /** A connection that transfers nothing for this long is closed. */
  readonly silenceMsMax: number;
  /** The number of names in one answer to a listing. */
  readonly listPageMax: number;
}

export const defaultS3Limits: S3Limits = {
  partBytes: 8 * 1024 ** 2,
  transfersAtOnceMax: 8,
  attemptsMax: 5,
  connectMsMax: 5_000,
  answerMsMax: 120_000,
  silenceMsMax: 30_000,
  listPageMax: 1_000,
};

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface S3Options extends Omit<S3Location, "kind"> {
  readonly clock: Clock;
  /** Default: as the SDK finds them (environment, profile, role). */
  readonly credentials?: S3Credentials;
  readonly limits?: Partial<S3Limits>;
}

type Sdk = typeof import("@aws-sdk/client-s3");

export interface S3Bucket {
  readonly sdk: Sdk;
  readonly client: S3Client;
  readonly bucket: string;
  readonly clock: Clock;
  readonly limits: S3Limits;
  readonly transfers: Limiter;
}

/** Our checksum is stored with the file, whatever checksums the server supports. */
export const checksumMetadata = "capstan-crc32";

export async function connectBucket(options: S3Options): Promise<S3Bucket> {
  const { bucket, endpoint, credentials, clock } = options;
  const limits = { ...defaultS3Limits, ...options.limits };
  // Loading takes a quarter of a second, which a lake in a directory need not pay.
  const sdk = await import("@aws-sdk/client-s3");
  // Servers other than Amazon's ignore the region or have one name for it.
  const region = options.region ?? (endpoint === undefined ? undefined : "us-east-1");
  const client = new sdk.S3Client({
    ...(region === undefined ? {} : { region }),
    // Few of them have a certificate, or a host name, per bucket.
    ...(endpoint === undefined
      ? { followRegionRedirects: true }
      : { endpoint, forcePathStyle: true }),
    ...(credentials === undefined ? {} : { credentials }),
    maxAttempts: limits.attemptsMax,
    requestHandler: {
      connectionTimeout: limits.connectMsMax,
      requestTimeout: limits.answerMsMax,
      throwOnRequestTimeout: true,
      socketTimeout: limits.silenceMsMax,
    },
  });
  const transfers = new Limiter(limits.transfersAtOnceMax);
  return { sdk, client, bucket, clock, limits, transfers };
}

export function placeOf({ bucket }: { readonly bucket: string }, key: string): string {
  return `s3://${bucket}/${key}`;
}
