/** The text of a file of statements, or of standard input. */
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { exitCodes, Failure } from "../../../../ground/command/index.ts";
import { messageOf } from "../../../../ground/kernel/errors.ts";

export async function readStatements(file: string): Promise<string> {
  if (file === "-") return await text(process.stdin);
  try {
    return await readFile(file, "utf8");
  } catch (thrown) {
    throw new Failure("usage", `${file} cannot be read: ${messageOf(thrown)}`, exitCodes.usage);
  }
}
