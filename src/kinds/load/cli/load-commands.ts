/** Commands of load tests: run one, find a maximum, look at earlier runs. */
import "../core/error-codes.ts";
import type { Command } from "commander";
import type { CommandContext, RunAction } from "../../../ground/command/index.ts";
import {
  client,
  collect,
  commandContext,
  connected,
  example,
  exitCodes,
} from "../../../ground/command/index.ts";

export function addLoadCommands(program: Command, run: RunAction): void {
  const load = program
    .command("load")
    .summary("load tests")
    .description("Load tests: templates, runs, reports.");

  for (const [name, summary] of [
    ["run", "run a load test and wait for its end"],
    ["find-max", "find out how many connections a target can use"],
  ] as const) {
    connected(load.command(name).summary(summary))
      .description(
        "Prepares and starts a run of a template at a running Capstan, shows its progress, and prints a summary. Ctrl-C or SIGTERM stops the run. Exits with 1 when the run did not complete, or broke a limit of its template's `verdict` (nothing succeeded, too many errors, arrivals unserved, the target away).",
      )
      .argument("<template>", "a template's id or name, or a YAML file")
      .option("--target <url>", "instead of the template's: postgres://…, mysql://…, sqlite:…")
      .option("--allow-host <name>", "load this host, though it is not this machine", collect, [])
      .option("--set <setting>", "duration=30, connections=16, qps=100, …", collect, [])
      .option("--name <text>", "what the run is called")
      .option("--load-data", "make the template's data first")
      .option("--reset-data", "put the template's data back before the load begins")
      .option("--fail-on-slo", "exit with 1 when an objective was missed")
      .option("--fail-on-regression <base>", "compare with that run, exit with 1 when it is worse")
      .option("--junit <file>", "write the verdict as JUnit XML")
      .option("--json [file]", "print the summary as JSON, or write it to a file")
      .option("--html <file>", "write the report")
      .addHelpText(
        "after",
        example(
          `capstan load ${name} demo`,
          `capstan load ${name} tpcb-like --target postgres://me:secret@127.0.0.1/bench --load-data --set duration=30 --fail-on-slo --junit load.xml`,
        ),
      )
      .action(async (template: string, options) => {
        await run.ask(async (interrupted) => {
          const [{ runLoad }, { realClock }] = await Promise.all([
            import("./run.ts"),
            import("../../../ground/kernel/node/real-clock.ts"),
          ]);
          const mode = name === "find-max" ? ["mode=FIND_MAX_CONCURRENCY"] : [];
          const asked = { ...options, set: [...mode, ...options.set] };
          const terminated = new AbortController();
          process.once("SIGTERM", () => terminated.abort());
          const isKept = await runLoad(
            commandContext(options),
            template,
            asked,
            realClock,
            AbortSignal.any([interrupted, terminated.signal]),
          );
          if (!isKept) run.exitWith(exitCodes.failure);
        });
      });
  }

  type Look = typeof import("./look.ts");
  const look = async (
    options: Parameters<typeof commandContext>[0],
    show: (look: Look, context: CommandContext) => Promise<unknown>,
  ): Promise<void> =>
    await run.ask(async () => {
      const isKept = await show(await import("./look.ts"), commandContext(options));
      if (isKept === false) run.exitWith(exitCodes.failure);
    });
  client(load.command("templates").summary("list templates")).action((options) =>
    look(options, ({ listTemplates }, context) => listTemplates(context)),
  );
  client(load.command("list").summary("list runs, the newest first"))
    .option("--search <text>", "of a name or an id")
    .action((options) =>
      look(options, ({ listTests }, context) => listTests(context, options.search)),
    );
  client(load.command("stop").summary("stop a run"))
    .argument("<id>", "the run")
    .action((id: string, options) =>
      look(options, ({ stopTest }, context) => stopTest(context, id)),
    );
  client(load.command("report").summary("a run's summary, or its report as a file"))
    .argument("<id>", "the run")
    .option("--html <file>", "the whole report")
    .option("--junit <file>", "the verdict as JUnit XML")
    .option("--hgrm <file>", "the distribution, as HdrHistogram prints it")
    .action((id: string, options) =>
      look(options, ({ reportTest }, context) => reportTest(context, id, options)),
    );
  client(load.command("compare").summary("compare runs with the first of them"))
    .description("Prints a verdict and every figure. Exits with 1 when one is a REGRESSION.")
    .argument("<ids...>", "two runs or more")
    .action((ids: readonly string[], options) =>
      look(options, ({ compareTests }, context) => compareTests(context, ids)),
    );
}
