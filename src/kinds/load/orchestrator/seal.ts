/**
 * A target's password on its way through the store: AES-256-GCM under a key derived from the
 * cluster's token. Rules: SE1 and SE2.
 */

import { createCipheriv, createDecipheriv, createHash, hkdfSync } from "node:crypto";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { randomSecret } from "../../../ground/kernel/node/system-random.ts";
import type { RunId } from "../core/ids.ts";
import type { RunRecord } from "../core/run-record.ts";

const version = "v1";
const tagBytes = 16;
const nonceBytes = 12;

export function sealSecret(secret: string, clusterToken: string, runId: RunId): string {
  const nonce = createHash("sha256").update(randomSecret()).digest().subarray(0, nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", keyOf(clusterToken), nonce);
  cipher.setAAD(Buffer.from(runId));
  const body = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
  const bytes = Buffer.concat([nonce, cipher.getAuthTag(), body]);
  return `${version}.${bytes.toString("base64url")}`;
}

export function openSecret(sealed: string, clusterToken: string, runId: RunId): string {
  const [found, text = ""] = sealed.split(".");
  const bytes = Buffer.from(text, "base64url");
  if (found !== version || bytes.length < nonceBytes + tagBytes) throw unreadable();
  const nonce = bytes.subarray(0, nonceBytes);
  try {
    const decipher = createDecipheriv("aes-256-gcm", keyOf(clusterToken), nonce);
    decipher.setAAD(Buffer.from(runId));
    decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    const body = bytes.subarray(nonceBytes + tagBytes);
    return Buffer.concat([decipher.update(body), decipher.final()]).toString("utf8");
  } catch {
    throw unreadable(); // SE2
  }
}

/** Null when the run's target has no password. */
export function passwordOf(
  { runId, targetSecret: sealed }: Pick<RunRecord, "runId" | "targetSecret">,
  clusterToken: string,
): string | null {
  return sealed === null ? null : openSecret(sealed, clusterToken, runId);
}

function keyOf(clusterToken: string): Buffer {
  return Buffer.from(hkdfSync("sha256", clusterToken, "", "capstan load target secret", 32));
}

function unreadable(): OperatingError {
  return new OperatingError(
    "unauthenticated",
    "never",
    "the target's password cannot be read with this cluster token",
    { hint: "The run was prepared under another cluster token. Prepare it again." },
  );
}
