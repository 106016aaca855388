/** What commands have in common. */
import type { Command } from "commander";

/** A command that asks a running Capstan. */
export function client(command: Command): Command {
  return command
    .option("--url <url>", "where Capstan is (CAPSTAN_URL; http://127.0.0.1:4600)")
    .option("--token-file <file>", "a file with the API token (or CAPSTAN_TOKEN)")
    .option("--json", "print JSON");
}

export function example(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}\n`;
}
