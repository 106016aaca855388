/** Parses a lake's location: a directory, `file:` or `s3://bucket/prefix?region=…&endpoint=…`. */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { isObjectPath } from "./object-path.ts";

export interface S3Location {
  readonly kind: "s3";
  readonly bucket: string;
  /** Without slashes around it; empty for the whole bucket. */
  readonly prefix: string;
  /** Undefined for the environment's region. */
  readonly region: string | undefined;
  /** The address of a server other than Amazon's. */
  readonly endpoint: string | undefined;
}

export type LakeLocation = { readonly kind: "directory"; readonly root: string } | S3Location;

const bucketPattern = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const prefixBytesMax = 240;

export function parseLakeUrl(text: string): LakeLocation {
  if (text.trim() === "") throw refusal("a lake needs a place", text);
  if (/^s3:/i.test(text)) return parseS3Url(text);
  if (/^file:/i.test(text)) return { kind: "directory", root: parseFileUrl(text) };
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(text)?.[1];
  if (scheme !== undefined) throw refusal(`lakes are not kept at ${scheme}://`, text);
  if (text.includes("\0")) throw refusal("this is no path", text);
  return { kind: "directory", root: resolve(text) };
}

export interface LakePlaces {
  readonly tables: LakeLocation;
  readonly metricsDir: string;
}

/** Metrics are always in a directory: beside the tables, or in `ownDir` if those are in S3. */
export function decideLakePlaces(
  told: { readonly lake?: string; readonly metricsDir?: string },
  ownDir: string,
): LakePlaces {
  const tables = parseLakeUrl(told.lake ?? ownDir);
  const beside = tables.kind === "directory" ? tables.root : ownDir;
  const metricsDir = told.metricsDir === undefined ? beside : resolve(told.metricsDir);
  return { tables, metricsDir };
}

/** The location for messages. It contains no secrets. */
export function showLakeLocation(location: LakeLocation): string {
  if (location.kind === "directory") return location.root;
  const { bucket, prefix } = location;
  return prefix === "" ? `s3://${bucket}` : `s3://${bucket}/${prefix}`;
}

function parseS3Url(text: string): S3Location {
  // `URL` would decode and normalise the prefix.
  const [, bucket = "", path = "", query = ""] =
    /^s3:\/\/([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i.exec(text) ?? [];
  if (bucket.includes("@")) {
    throw new OperatingError("bad_request", "never", "a lake's address holds no credentials", {
      hint: "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a profile or a role.",
    });
  }
  if (!bucketPattern.test(bucket) || bucket.includes("..")) {
    throw refusal(`${JSON.stringify(bucket)} is no name for a bucket`, text);
  }
  const prefix = path.replace(/^\/+|\/+$/g, "");
  if (prefix !== "" && (!isObjectPath(prefix) || Buffer.byteLength(prefix) > prefixBytesMax)) {
    throw refusal(`${JSON.stringify(prefix)} is no prefix for a lake`, text);
  }
  const settings = new URLSearchParams(query);
  for (const name of settings.keys()) {
    if (name !== "region" && name !== "endpoint") throw refusal(`it has no setting ${name}`, text);
  }
  const region = settings.get("region") ?? undefined;
  if (region !== undefined && !/^[a-z0-9-]{1,64}$/.test(region)) {
    throw refusal(`${JSON.stringify(region)} is no region`, text);
  }
  const endpoint = settings.get("endpoint") ?? undefined;
  if (endpoint !== undefined) checkEndpoint(endpoint, text);
  return { kind: "s3", bucket, prefix, region, endpoint };
}

function checkEndpoint(endpoint: string, text: string): void {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  const isPlain = url !== undefined && url.username === "" && url.password === "";
  if (isPlain && /^https?:$/.test(url.protocol)) return;
  throw refusal("the endpoint is no http or https address", text);
}

function parseFileUrl(text: string): string {
  try {
    return fileURLToPath(text);
  } catch (thrown) {
    throw refusal("it is no address of a local directory", text, thrown);
  }
}

function refusal(why: string, text: string, cause?: unknown): OperatingError {
  // The part before an `@` may be a secret.
  const shown = JSON.stringify(text.replace(/\/\/[^/@]*@/, "//…@").slice(0, 300));
  return new OperatingError("bad_request", "never", `${shown} is no place for a lake: ${why}`, {
    cause,
    hint: "A directory, or s3://bucket/prefix?region=…&endpoint=https://…",
  });
}
