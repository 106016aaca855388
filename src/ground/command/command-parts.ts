/** Options that several commands share. */
import { type Command, Option } from "commander";

/** A command that calls a running Capstan and can print JSON. */
export function client(command: Command): Command {
  return connected(command).option("--json", "print JSON");
}

/** The same without `--json`, for a command that defines its own. */
export function connected(command: Command): Command {
  return command
    .option("--url <url>", "where Capstan is (CAPSTAN_URL; http://127.0.0.1:4600)")
    .option("--token-file <file>", "a file with the API token (or CAPSTAN_TOKEN)");
}

export function example(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}\n`;
}

export function dataDir(command: Command): Command {
  return command.option("--data-dir <dir>", "where state is kept", ".capstan");
}

export function withStore(command: Command): Command {
  const text = "sqlite:PATH or postgres://… (a file in the data directory)";
  return command.addOption(new Option("--store <url>", text).env("CAPSTAN_STORE"));
}

export function lake(command: Command): Command {
  const text =
    "where tables are: a directory, or s3://bucket/prefix?region=…&endpoint=… (in the data directory)";
  return command.addOption(new Option("--lake <place>", text).env("CAPSTAN_LAKE"));
}

export function metricsDir(command: Command): Command {
  return command.option(
    "--metrics-dir <dir>",
    "where metrics are (where tables are, unless that is S3: then in the data directory)",
  );
}
