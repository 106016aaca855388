/** Sends the file of a COPY, which is on the user's machine, before the statement. */
import { createReadStream, statSync } from "node:fs";
import type { CommandContext } from "../../../ground/command/index.ts";
import { exitCodes, Failure, formatBytes } from "../../../ground/command/index.ts";
import { parseStatement, type Statement, TokenCursor } from "../../sql/core/index.ts";

const chunkBytes = 8 * 1024 ** 2;

/** Undefined when the statement needs no file. */
export async function uploadFor(
  { client, terminal, json }: CommandContext,
  sql: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const file = fileOf(sql);
  if (file === undefined) return undefined;
  const sizeBytes = sizeOf(file);
  const begun = await client.json<{ upload_id: string }>("/api/v1/uploads", {
    method: "POST",
    body: {},
    signal,
  });
  const id = begun.upload_id;
  const showsProgress = terminal.interactive && !json && sizeBytes > chunkBytes;
  let offset = 0;
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: chunkBytes })) {
      const bytes = chunk as Buffer;
      const path = `/api/v1/uploads/${id}/chunks?offset=${offset}`;
      await client.json(path, { method: "POST", bytes, signal, silenceMsMax: 120_000 });
      offset += bytes.length;
      if (showsProgress) {
        const share = Math.floor((offset / Math.max(1, sizeBytes)) * 100);
        terminal.err(`\r\u001b[K  ${formatBytes(offset)} sent, ${share} %`);
      }
    }
  } finally {
    if (showsProgress) terminal.err("\r\u001b[K");
  }
  return id;
}

/** Ignores syntax errors, which the server explains. */
function fileOf(sql: string): string | undefined {
  if (!/^\s*COPY\b/i.test(sql)) return undefined;
  let statement: Statement;
  try {
    statement = parseStatement(new TokenCursor(sql), () => []);
  } catch {
    return undefined;
  }
  return statement.kind === "copy" ? statement.file : undefined;
}

function sizeOf(file: string): number {
  try {
    const found = statSync(file);
    if (found.isFile()) return found.size;
  } catch {
    // Reported below.
  }
  throw new Failure("usage", `cannot read the file ${file}`, exitCodes.usage);
}
