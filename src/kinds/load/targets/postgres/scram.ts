/** SCRAM-SHA-256 from the client's side (RFC 5802, RFC 7677), without channel binding. Pure. */
import { createHash, createHmac, pbkdf2Sync, timingSafeEqual } from "node:crypto";

export const scramMechanism = "SCRAM-SHA-256";

/** A server that asks for more would keep us busy for minutes. */
const iterationsMax = 10_000_000;

export interface ScramClient {
  readonly first: string;
  /**
   * The answer to the server's first message; `undefined`: it makes no sense, or is for another
   * client.
   */
  answer(serverFirst: string): string | undefined;
  /** Whether the server has proved that it knows the password, too. */
  accepts(serverFinal: string): boolean;
}

/** The user's name is left empty: Postgres takes it from the startup message. */
export function createScramClient(password: string, nonce: string): ScramClient {
  const firstBare = `n=,r=${nonce}`;
  let signature: Buffer | undefined;
  return {
    first: `n,,${firstBare}`,
    answer(serverFirst) {
      const fields = parseFields(serverFirst);
      const [serverNonce, salt, iterations] = [fields.get("r"), fields.get("s"), fields.get("i")];
      const rounds = Number(iterations);
      if (serverNonce === undefined || salt === undefined) return undefined;
      if (!serverNonce.startsWith(nonce) || serverNonce.length === nonce.length) return undefined;
      if (!Number.isInteger(rounds) || rounds < 1 || rounds > iterationsMax) return undefined;
      const saltBytes = Buffer.from(salt, "base64");
      const salted = pbkdf2Sync(prepared(password), saltBytes, rounds, 32, "sha256");
      const clientKey = hmac(salted, "Client Key");
      const storedKey = createHash("sha256").update(clientKey).digest();
      const withoutProof = `c=biws,r=${serverNonce}`; // biws: `n,,` in base64.
      const message = `${firstBare},${serverFirst},${withoutProof}`;
      const clientSignature = hmac(storedKey, message);
      const proof = clientKey.map((byte, index) => byte ^ (clientSignature[index] ?? 0));
      signature = hmac(hmac(salted, "Server Key"), message);
      return `${withoutProof},p=${Buffer.from(proof).toString("base64")}`;
    },
    accepts(serverFinal) {
      const sent = Buffer.from(parseFields(serverFinal).get("v") ?? "", "base64");
      if (signature === undefined || sent.length !== signature.length) return false;
      return timingSafeEqual(sent, signature);
    },
  };
}

function parseFields(message: string): Map<string, string> {
  return new Map(message.split(",").map((field) => [field.slice(0, 1), field.slice(2)]));
}

/**
 * SASLprep for what people type: other spaces are spaces, invisible characters go, compatible ones
 * are one.
 */
function prepared(password: string): string {
  return password
    .replace(/[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g, " ")
    .replace(/\u00ad|\u034f|[\u180b-\u180d]|[\u200b-\u200d]|\u2060|[\ufe00-\ufe0f]|\ufeff/g, "")
    .normalize("NFKC");
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
