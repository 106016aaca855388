/** The metrics commands: PromQL queries, and imports of files. */
import type { Command } from "commander";
import { Option } from "commander";
import type { RunAction } from "../../../ground/command/index.ts";
import {
  client,
  commandContext,
  dataDir,
  example,
  lake,
  parseSeconds,
} from "../../../ground/command/index.ts";

export function addMetricsCommands(program: Command, run: RunAction): void {
  client(program.command("promql").summary("ask with PromQL"))
    .description(
      "Evaluates a PromQL expression: at one moment, or over a range of time with a chart. With --json the answer is printed as Prometheus's API gives it.",
    )
    .argument("<query>", "the expression")
    .option("--time <time>", "the moment: seconds since 1970, RFC 3339, or 5m for five minutes ago")
    .option("--range <duration>", "over the time up to now (or --time), as 1h or 7d")
    .option("--start <time>", "over the time from here")
    .option("--end <time>", "to here (now)")
    .option("--step <duration>", "between two points (a hundredth of the range)")
    .option("--timeout <seconds>", "give up after so long", parseSeconds)
    .option("--points", "print every point instead of a summary of each series")
    .option("--explain", "say how it would be answered, and do not")
    .addHelpText(
      "after",
      example(
        "capstan promql up",
        "capstan promql 'sum by (job) (rate(http_requests_total[5m]))' --range 1h",
        "capstan promql 'rate(http_requests_total[5m])' --start 2026-01-01T00:00:00Z --end 2026-01-02T00:00:00Z --step 5m --json",
      ),
    )
    .action(async (query: string, options) => {
      await run.ask(async (interrupted) => {
        const [{ runPromql }, { realClock }] = await Promise.all([
          import("./promql.ts"),
          import("../../../ground/kernel/node/real-clock.ts"),
        ]);
        await runPromql(commandContext(options), query, options, realClock.wallMs(), interrupted);
      });
    });

  const metrics = program
    .command("metrics")
    .summary("bring samples in, repair their log")
    .description("Metrics.");
  client(metrics.command("import").summary("import samples from a file"))
    .description(
      "Imports samples with timestamps from a file in the OpenMetrics or the Prometheus text format, all of them or none.",
    )
    .argument("<file>", "the file (- is standard input)")
    .addOption(
      new Option("--format <format>", "otherwise told by the file").choices([
        "openmetrics",
        "prometheus",
      ]),
    )
    .option("--skip-bad-lines", "leave out lines that cannot be read, and say how many")
    .addHelpText("after", example("capstan metrics import history.om"))
    .action(async (file: string, options) => {
      await run.ask(async (interrupted) => {
        const [{ runMetricsImport }, { realClock }] = await Promise.all([
          import("./metrics-import.ts"),
          import("../../../ground/kernel/node/real-clock.ts"),
        ]);
        await runMetricsImport(commandContext(options), file, options, realClock, interrupted);
      });
    });

  const repair = metrics.command("repair").summary("make a damaged log usable again");
  lake(dataDir(repair))
    .description(
      "Reads the log of the newest samples, those that are not in segments yet. Where it is damaged or files are missing, what is good stays, the damaged files are kept aside, and the report says what is lost. A log that is whole is left as it is. No coordinator may have the log open; one that found it damaged opens it by itself afterwards.",
    )
    .option("--metrics-dir <path>", "of the coordinator, if it was given one")
    .option("--json", "print JSON")
    .addHelpText("after", example("capstan metrics repair", "capstan metrics repair --json"))
    .action(async (options) => {
      await run.ask(async () => {
        const { runMetricsRepair } = await import("./metrics-repair.ts");
        await runMetricsRepair(options);
      });
    });
}
