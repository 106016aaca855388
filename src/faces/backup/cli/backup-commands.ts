/** Backup commands. They need no coordinator: they read and write the store and the files. */
import type { Command } from "commander";
import type { RunAction } from "../../../ground/command/index.ts";
import { dataDir, example, lake, metricsDir, withStore } from "../../../ground/command/index.ts";

export function addBackupCommands(program: Command, run: RunAction): void {
  const backup = program.command("backup").summary("copy store, tables and metrics to a directory");
  metricsDir(lake(withStore(dataDir(backup))))
    .description(
      "Copies the store, the lake's files, the metrics and their log to a new directory, as of one moment, while Capstan runs or not. Every copy is compared with its checksum; manifest.json, written last, lists them. Secrets of the data directory (cluster-token) are not in it.",
    )
    .argument("<dir>", "a directory that does not exist, or is empty")
    .option("--json", "print JSON")
    .addHelpText("after", example("capstan backup /backups/monday", exitText))
    .action(async (directory: string, options) => {
      await run.ask(async (interrupted) => {
        const { runBackupCommand } = await import("./backup.ts");
        await runBackupCommand(directory, options, interrupted);
      });
    });

  const restore = program.command("restore").summary("put a backup back");
  metricsDir(lake(withStore(dataDir(restore))))
    .description(
      "Puts a backup back to a place where there is nothing, after it was read whole and verified. The store may be another kind than the one that was copied: SQLite or Postgres; so may the lake: a directory or S3. Workers register again when they start.",
    )
    .argument("<dir>", "what `capstan backup` wrote")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      example(
        "capstan restore /backups/monday --data-dir restored",
        "capstan restore /backups/monday --store postgres://db/capstan --lake s3://bucket/prefix",
        exitText,
      ),
    )
    .action(async (directory: string, options) => {
      await run.ask(async (interrupted) => {
        const { runRestoreCommand } = await import("./backup.ts");
        await runRestoreCommand(directory, options, interrupted);
      });
    });
}

const exitText = "# status 0: it is whole and verified; 1: it is not, and the message says why";
