/** Commands of the lake. They need no coordinator: they read the store and the files. */
import type { Command } from "commander";
import {
  dataDir,
  example,
  lake as lakeOption,
  metricsDir,
  withStore,
} from "../../ground/command/command-parts.ts";
import { exitCodes } from "../../ground/command/exit-codes.ts";
import type { RunAction } from "../../ground/command/run-action.ts";

export function addLakeCommands(program: Command, run: RunAction): void {
  const lake = program
    .command("lake")
    .summary("check the lake's tables and files")
    .description("The lake: tables as Parquet files, with their catalog in the control store.");
  const check = lake.command("check").summary("compare the catalog with its rules and the files");
  metricsDir(lakeOption(withStore(dataDir(check))))
    .description(
      "Checks the catalog's tables against the rules of their format, and reads every file that they name: its checksum, size, rows, statistics, row ids and deletes; and the files of metrics, by their checksums. Nothing is changed, and Capstan may be running meanwhile. Prints what is wrong, a line each; the exit status is 1 if anything is.",
    )
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      example(
        "capstan lake check",
        "capstan lake check --store postgres://db/capstan --lake s3://bucket/prefix",
      ),
    )
    .action(async (options) => {
      await run.ask(async (interrupted) => {
        const { runLakeCheck } = await import("./lake-check.ts");
        const isSound = await runLakeCheck(options, interrupted);
        if (!isSound) run.exitWith(exitCodes.failure);
      });
    });
}
