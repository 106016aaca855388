/** Commands of streams: run a file of statements here, or only check it. */
import "../../language/index.ts";
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  dataDir,
  example,
  exitCodes,
  lake,
  type RunAction,
  withStore,
} from "../../../../ground/command/index.ts";
import type { FilledTables } from "../lake/open-stream-lake.ts";

function parseParallelism(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 256) return count;
  throw new InvalidArgumentError("A parallelism is an integer from 1 to 256.");
}

/** `readFilled`: the tables of the lake that other kinds of work fill. */
export function addStreamCommands(
  program: Command,
  run: RunAction,
  readFilled: FilledTables,
): void {
  const stream = program
    .command("stream")
    .summary("continuous queries")
    .description("Continuous SQL queries from sources to sinks.");

  const runFile = stream.command("run").summary("run the queries of a file in this process");
  lake(withStore(dataDir(runFile)))
    .description(
      "Runs every SELECT … INTO of a file until its sources end, without a running Capstan. Tables of a lake are those of the data directory, which a running Capstan may use meanwhile. Rows of a Print sink are written to standard output, everything else to standard error. Ctrl-C reads no more and lets what was read reach the sinks; a second one ends at once.",
    )
    .argument("<file>", "a file with statements; - is standard input")
    .option("--checkpoint <dir>", "keep checkpoints there, and go on from the last one")
    .addOption(
      new Option(
        "--parallelism <n>",
        'instances of each operator with keys, instead of "QUERY".PARALLELISM',
      ).argParser(parseParallelism),
    )
    .option("--json", "print progress and the result as JSON lines")
    .addHelpText(
      "after",
      example("capstan stream run bids.sql", "capstan stream run bids.sql --checkpoint ./state"),
    )
    .action(async (file: string, options) => {
      await run.ask(async (interrupted) => {
        const [{ runStreams }, { realClock }] = await Promise.all([
          import("./run-streams.ts"),
          import("../../../../ground/kernel/node/real-clock.ts"),
        ]);
        if (!(await runStreams(file, { ...options, readFilled }, realClock, interrupted))) {
          run.exitWith(exitCodes.interrupted);
        }
      });
    });

  const checkFile = stream
    .command("check")
    .summary("bind the statements of a file and explain its queries");
  lake(withStore(dataDir(checkFile)))
    .argument("<file>", "a file with statements; - is standard input")
    .option("--json", "print the plans as JSON")
    .addHelpText("after", example("capstan stream check bids.sql"))
    .action(async (file: string, options) => {
      await run.ask(async () => {
        const [{ checkStreams }, { realClock }] = await Promise.all([
          import("./check-streams.ts"),
          import("../../../../ground/kernel/node/real-clock.ts"),
        ]);
        await checkStreams(file, { ...options, readFilled }, realClock);
      });
    });
}
