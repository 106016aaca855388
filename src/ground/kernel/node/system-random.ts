import { randomBytes } from "node:crypto";
import { createPrng, type Prng } from "../prng.ts";

/** A generator seeded by the operating system, so that no two processes share it. */
export function createSystemPrng(): Prng {
  return createPrng(randomBytes(16).toString("hex"));
}

/** 256 bits for a token that protects something, as URL-safe text. */
export function randomSecret(): string {
  return randomBytes(32).toString("base64url");
}
