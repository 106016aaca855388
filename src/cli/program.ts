/**
 * The command line: all commands and options. Each command's code is loaded only when it runs, so
 * that `capstan --help` is fast.
 */
import { Command, type CommanderError, Option } from "commander";
import { addBackupCommands } from "../faces/backup/index.ts";
import {
  client,
  dataDir,
  example,
  lake,
  metricsDir,
  withStore,
} from "../ground/command/command-parts.ts";
import { exitCodes } from "../ground/command/exit-codes.ts";
import { Failure } from "../ground/command/failure.ts";
import {
  collect,
  collectApiUrls,
  collectLimits,
  parseAge,
  parseApiUrl,
  parseCount,
  parsePort,
  parseSeconds,
  parseSize,
} from "../ground/command/option-values.ts";
import type { RunAction } from "../ground/command/run-action.ts";
import { limitRules } from "../ground/process/limits.ts";
import { addMetricsCommands } from "../kinds/ask/cli/metrics-commands.ts";
import { addLoadCommands } from "../kinds/load/cli/load-commands.ts";
import { addStreamCommands } from "../kinds/stream/run/cli/stream-commands.ts";
import { addLakeCommands } from "./commands/lake-commands.ts";

const usageHint = "capstan --help shows what there is";

type AddCommands = (program: Command, run: RunAction) => void;

/** In the order of the help. */
export const programCommands: readonly AddCommands[] = [
  addClientCommands,
  addDemo,
  addMetricsCommands,
  (program, run) => addStreamCommands(program, run, readFilledTables),
  addLakeCommands,
  addBackupCommands,
  addLoadCommands,
  addServerCommands,
];

/** Tables that others fill, for streams: their sinks write to no dynamic table. */
const readFilledTables: Parameters<typeof addStreamCommands>[2] = async (store) =>
  await store.read((await import("../kinds/refresh/index.ts")).readFilledTables);

/** With `quiet`, usage errors are thrown and not printed as well. */
export function createProgram(
  version: string,
  run: RunAction,
  quiet: boolean,
  commands: readonly AddCommands[] = programCommands,
): Command {
  const program = new Command("capstan")
    .configureOutput(quiet ? { writeErr: () => undefined } : {})
    .description("Ask, stream, refresh and test: four kinds of data work on one pool of workers.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .helpCommand("help [command]", "print help for a command")
    .showHelpAfterError(`hint:  ${usageHint}`)
    .enablePositionalOptions()
    .exitOverride()
    .addHelpText("after", programHelp);
  for (const add of commands) add(program, run);
  return program;
}

/** Undefined when commander ended after printing what was asked for. */
export function usageFailure(error: CommanderError): Failure | undefined {
  if (error.exitCode === 0) return undefined;
  const said = error.message.replace(/^error: /, "").replace(/\s*\n\s*/g, " ");
  const message = error.code === "commander.help" ? "there is no command" : said;
  return new Failure("usage", message, exitCodes.usage, usageHint);
}

function addClientCommands(program: Command, run: RunAction): void {
  client(program.command("status").summary("the cluster in a few lines"))
    .description("Shows who leads, which workers there are and what runs.")
    .action(async (options) => {
      await run.ask(async () => {
        const [{ commandContext }, { runStatus }] = await Promise.all([
          import("../ground/command/context.ts"),
          import("./commands/status.ts"),
        ]);
        await runStatus(commandContext(options));
      });
    });

  const workers = client(program.command("workers").summary("list, drain and drop workers"))
    .description("Lists the workers; subcommands change them.")
    .enablePositionalOptions()
    .addHelpText("after", example("capstan workers", "capstan workers drain worker-1"))
    .allowExcessArguments() // Refused below, with the valid commands.
    .action(async (options, command: Command) => {
      if (command.args[0] !== undefined) unknownVerb(command, command.args[0]);
      await run.ask(async () => {
        const [{ commandContext }, { runWorkersList }] = await Promise.all([
          import("../ground/command/context.ts"),
          import("./commands/workers.ts"),
        ]);
        await runWorkersList(commandContext(options));
      });
    });
  const verbs = [
    ["drain", "give it no new work; it finishes what it has"],
    ["undrain", "give it work again"],
    ["drop", "remove it from the cluster (drained or gone)"],
  ] as const;
  for (const [verb, summary] of verbs) {
    client(workers.command(verb).summary(summary))
      .description(`A worker: ${summary}.`)
      .argument("<name>", "the worker's name, as `capstan workers` shows it")
      .action(async (name: string, _options, command: Command) => {
        await run.ask(async () => {
          const [{ commandContext }, { runWorkerVerb }] = await Promise.all([
            import("../ground/command/context.ts"),
            import("./commands/workers.ts"),
          ]);
          await runWorkerVerb(commandContext(command.optsWithGlobals()), verb, name);
        });
      });
  }

  client(program.command("watch").summary("follow changes of the catalog"))
    .description("Prints a table of the catalog, then every change of it, until Ctrl-C.")
    .argument("<what>", 'a table ("workers", "dynamic_tables"), or a simple SELECT on one')
    .option("--revision <n>", "resume after this revision", parseCount)
    .option("--count <n>", "end after this many events, the snapshot included", parseCount)
    .addHelpText(
      "after",
      example(
        "capstan watch workers",
        "capstan watch dynamic_tables",
        "capstan watch \"SELECT worker_id, state FROM workers WHERE state = 'UNREACHABLE'\"",
      ),
    )
    .action(async (what: string, options) => {
      await run.ask(async (interrupted) => {
        const [{ commandContext }, { runWatch }, { realClock }] = await Promise.all([
          import("../ground/command/context.ts"),
          import("../data/statements/cli/watch.ts"),
          import("../ground/kernel/node/real-clock.ts"),
        ]);
        await runWatch(commandContext(options), what, options, realClock, interrupted);
      });
    });

  client(program.command("sql").summary("run SQL on the workers"))
    .description(
      "Runs statements on the workers. Without -c, -f or piped input it is a prompt. With --json the answer's lines are printed as the API sends them.",
    )
    .option("-c, --command <sql>", "run this statement (may be repeated)", collect)
    .option("-f, --file <path>", "run the statements of a file (- is standard input)")
    .option("--atomic", "run them as one bundle, all or none (statements about streams)")
    .option("--timeout <seconds>", "give up when no row came after so long", parseSeconds)
    .addHelpText(
      "after",
      example(
        'capstan sql -c "SELECT 42 AS answer"',
        'capstan sql --json -c "SELECT * FROM range(10)" | tail -n +2',
        "capstan sql -f report.sql",
        "capstan sql",
      ),
    )
    .action(async (options) => {
      await run.ask(async (interrupted) => {
        const [{ commandContext }, { runSqlCommand }, { streamLanguage }] = await Promise.all([
          import("../ground/command/context.ts"),
          import("../data/statements/cli/sql.ts"),
          import("../kinds/stream/catalog/cli/stream-language.ts"),
        ]);
        const languages = [streamLanguage];
        await runSqlCommand(commandContext(options), options, interrupted, languages);
      });
    });
}

function addDemo(program: Command, run: RunAction): void {
  client(program.command("demo").summary("a small shop: tables, and dynamic tables of them"))
    .description(
      "Makes two tables and three dynamic tables (demo_…) to look at. What is there already stays as it is.",
    )
    .option("--live", "let orders come and change, and a stream of clicks be counted, until Ctrl-C")
    .option("--remove", "drop them again")
    .addHelpText("after", example("capstan demo --live", "capstan demo --remove"))
    .action(async (options) => {
      await run.ask(async (interrupted) => {
        const [{ commandContext }, { runDemo }, { realClock }] = await Promise.all([
          import("../ground/command/context.ts"),
          import("../kinds/refresh/cli/demo.ts"),
          import("../ground/kernel/node/real-clock.ts"),
        ]);
        await runDemo(commandContext(options), options, realClock, interrupted);
      });
    });
}

/** Commander suggests nothing for a command that has an action and subcommands. */
function unknownVerb(command: Command, verb: string): never {
  const known = command.commands.map((each) => each.name()).join(", ");
  const message = `error: unknown command '${verb}'\n(${command.name()} takes one of: ${known})`;
  command.error(message, { code: "commander.unknownCommand" });
}

function addServerCommands(program: Command, run: RunAction): void {
  const up = program
    .command("up")
    .summary("start everything on this machine")
    .description(
      "Sets up the store, starts a coordinator and workers as child processes and keeps them running until Ctrl-C.",
    )
    .option("--workers <n>", "how many workers", parseCount, 2)
    .option("--no-dashboard", "do not build the dashboard, if this is a clone");
  secretsDir(metricsOwner(diskLimit(up)).addOption(streamDialect()));
  refreshing(apiServer(up))
    .option("--verbose", "show every log line of the children, not only warnings")
    .option("--json", "print what happens as JSON lines")
    .addHelpText(
      "after",
      example("capstan up", "capstan up --workers 4 --data-dir /var/lib/capstan --port 8080"),
    )
    .action(async (options) => {
      await run.serve(async () => {
        const { runUp } = await import("./up/up.ts");
        await runUp(options);
      });
    });

  for (const { name, role, summary, description } of controllers) {
    const command = program
      .command(name)
      .summary(summary)
      .description(description)
      .option("--name <name>", "its name in its data directory", name)
      .option(
        "--discover <how>",
        "where workers are found: store, static:HOST:PORT,…, dns:NAME:PORT or srv:NAME",
        "store",
      );
    command.addOption(streamDialect());
    if (role === "coordinator") metricsOwner(command);
    else lake(command);
    logFormat(apiServer(command)).action(async (options) => {
      await run.serve(async () => {
        const { runController } = await import("../coordinator/index.ts");
        await runController({ ...options, role });
      });
    });
  }

  const worker = program
    .command("worker")
    .summary("start a worker")
    .description("Starts a worker and registers it with a coordinator. SIGTERM drains it first.")
    .option(
      "--join <url>",
      "a coordinator (may be repeated); without it the worker waits to be found",
      collectApiUrls,
    )
    .option("--name <name>", "the worker's name (the machine's)")
    .option("--slots <n>", "how many works run at once (the machine's cores)", parseCount)
    .option("--compute-threads <n>", "threads for PromQL (the machine's cores)", parseCount)
    .option("--column-cache <size>", "memory for decoded metrics (160MB)", parseSize)
    .option("--advertise-host <host>", "where coordinators reach it, if not at --host")
    .option("--grpc-port <port>", "port of the control session (0: any)", parsePort, 0)
    .option("--data-port <port>", "port of the artifacts (0: any)", parsePort, 0)
    .option(
      "--metrics-port <port>",
      "port of /metrics, /healthz and /readyz (0: any)",
      parsePort,
      0,
    );
  worker.option(
    "--stream-dir <dir>",
    "where File sources and sinks of streams are (streams in the data directory)",
  );
  secretsDir(worker);
  targetFiles(refreshing(metricsDir(lake(diskLimit(worker)))));
  withStore(logFormat(cluster(worker, 30)))
    .addHelpText(
      "after",
      example("CAPSTAN_CLUSTER_TOKEN=… capstan worker --join http://10.0.0.1:4600 --host 10.0.0.2"),
    )
    .action(async (options) => {
      await run.serve(async () => {
        const [{ runWorker }, { isSupervised }] = await Promise.all([
          import("../worker/index.ts"),
          import("../ground/process/index.ts"),
        ]);
        const reason = await runWorker(options);
        // Without a supervisor, dropped is a success: a failure status would cause a restart.
        if (reason === "dropped" && isSupervised()) run.exitWith(exitCodes.dropped);
      });
    });

  const loadWorker = program
    .command("load-worker", { hidden: true }) // Started by the coordinator.
    .summary("make one share of a load test's load")
    .description("Joins a run of a load test, and ends with it. The coordinator starts it.")
    .requiredOption("--run-id <id>", "the run")
    .requiredOption("--worker-id <name>", "its name in the run")
    .requiredOption("--worker-group-id <n>", "its number, from 0", parseCount)
    .requiredOption("--worker-group-count <n>", "how many there are", parseCount)
    .option("--coordinator-url <url>", "where live figures go", parseApiUrl)
    .option("--cluster-token-file <file>", "the cluster's token (CAPSTAN_CLUSTER_TOKEN)")
    .addOption(logLevel());
  logFormat(targetFiles(lake(withStore(dataDir(loadWorker))))).action(async (options) => {
    await run.serve(async () => {
      const { runLoadWorker } = await import("../kinds/load/worker/main.ts");
      const { status } = await runLoadWorker(options);
      if (status === "FAILED") run.exitWith(exitCodes.failure);
    });
  });

  withStore(dataDir(program.command("setup").summary("create or migrate the store")))
    .description("Applies the schema to the control store. Safe to repeat; only forward.")
    .option("--json", "print JSON")
    .action(async (options) => {
      await run.serve(async () => {
        const { runSetup } = await import("./commands/setup.ts");
        await runSetup(options);
      });
    });

  program
    .command("dashboard")
    .summary("build the dashboard (in a clone)")
    .description("Builds the dashboard if its sources changed. `capstan up` does so by itself.")
    .option("--json", "print JSON")
    .action(async (options: { json?: boolean }) => {
      await run.serve(async () => {
        const { runDashboard } = await import("./commands/dashboard.ts");
        await runDashboard(options);
      });
    });
}

const controllers = [
  {
    name: "coordinator",
    role: "coordinator",
    summary: "start a coordinator alone",
    description:
      "Starts a coordinator. Several on one store are fine: one leads, the others stand by and take over.",
  },
  {
    name: "query-api",
    role: "query_api",
    summary: "start a replica that only answers queries",
    description:
      "Starts a query API: its own sessions to the workers, no lease, no writes to the store.",
  },
] as const;

/** For a coordinator, a query-api and a worker. */
function warmUp(): Option {
  return new Option("--warm-up <when>", "compile what PromQL needs before the first query: on, off")
    .choices(["on", "off"])
    .default("on")
    .env("CAPSTAN_WARM_UP");
}

function cluster(command: Command, drainSeconds: number): Command {
  return dataDir(command)
    .option("--host <host>", "the address to bind", "127.0.0.1")
    .option(
      "--memory-limit <size>",
      "memory of the process and its children, as 4GB (a fair share of the machine)",
      parseSize,
    )
    .option(
      "--drain-timeout <seconds>",
      "how long work under way may take when it ends",
      parseSeconds,
      drainSeconds,
    )
    .addOption(warmUp())
    .addOption(logLevel())
    .optionsGroup("Security:")
    .option(
      "--tokens-file <file>",
      "API tokens, lines of `read TOKEN` or `operate TOKEN` (or CAPSTAN_TOKENS)",
    )
    .option(
      "--cluster-token-file <file>",
      "the cluster's token (CAPSTAN_CLUSTER_TOKEN; made in the data directory)",
    )
    .option("--cluster-cert <file>", "PEM certificate for sessions and artifacts")
    .option("--cluster-key <file>", "its key")
    .option(
      "--cluster-ca <file>",
      "PEM authority that signs the others' certificates (mutual TLS)",
    );
}

function apiServer(command: Command): Command {
  const withPort = command.option("--port <port>", "the API's port (0: any)", parsePort, 4600);
  return cluster(withStore(withPort), 5)
    .option("--tls-cert <file>", "serve the API over TLS (callers trust it by NODE_EXTRA_CA_CERTS)")
    .option("--tls-key <file>", "its key")
    .option("--api-url <url>", "the address that others reach this API at", parseApiUrl)
    .option(
      "--allow-host <name>",
      "another name that this server is reached by (may be repeated)",
      collect,
    )
    .option(
      "--allow-origin <origin>",
      "pages of this origin may call the API (may be repeated)",
      collect,
    )
    .option(
      "--limit <name=value>",
      "another value of a limit, as connections=4096 (may be repeated; see below)",
      collectLimits,
    )
    .addHelpText("after", () => limitsHelp())
    .optionsGroup("Output:");
}

/** The same table as in docs/limits.md. */
function limitsHelp(): string {
  const lines = Object.entries(limitRules).map(
    ([name, { usual, text }]) => `  ${name.padEnd(24)}${text} (${usual})`,
  );
  return `\nLimits (--limit name=value):\n${lines.join("\n")}\n`;
}

/** Options of every process that ingests samples. */
function metricsOwner(command: Command): Command {
  return targetFiles(metricsDir(lake(command)))
    .option("--keep-snapshots <time>", "how long tables can be read as they were (7d)", parseAge)
    .option(
      "--delete-after <time>",
      "how long files stay that no snapshot needs: longer than any query runs (2h)",
      parseAge,
    )
    .option("--upkeep-every <time>", "how often tables and metrics are tidied (1m)", parseAge)
    .option("--keep-metrics <time>", "how long metrics are kept (15d)", parseAge)
    .option(
      "--scrub-every <time>",
      "in how long every file of tables and metrics is read and compared with its checksum (7d)",
      parseAge,
    )
    .option("--keep-runs <time>", "how long load tests are kept (for ever)", parseAge)
    .option("--scrape-config <file>", "a Prometheus configuration whose targets are scraped")
    .option(
      "--allow-password-env <name>",
      "a variable, besides LOAD_TARGET_…, that load tests may send to their targets as password_env (may be repeated)",
      collect,
    );
}

/** Options of every process that opens the targets of load tests. */
function targetFiles(command: Command): Command {
  return command
    .option(
      "--allow-target-file <path>",
      "a DuckDB or SQLite file that load tests may open, besides those in targets/ of the data directory, or a Unix socket (or its directory) that they may connect to (may be repeated)",
      collect,
    )
    .option(
      "--load-memory-limit <size>",
      "memory of a load worker, with DuckDB or SQLite in it (half of the machine's, shared by the workers of a run)",
      parseSize,
    );
}

function diskLimit(command: Command): Command {
  const text = "disk of a worker for artifacts and for copies of the lake's files (10GB)";
  return command.option("--disk-limit <size>", text, parseSize);
}

function refreshing(command: Command): Command {
  return command
    .option(
      "--split-rows <n>",
      "full refreshes that read so many rows are split among workers (5000000)",
      parseCount,
    )
    .option(
      "--suspend-after <time>",
      "a dynamic table whose refreshes fail for so long is suspended (10m)",
      parseAge,
    );
}

function secretsDir(command: Command): Command {
  const text = "a file for each SECRET('name') of streams (or $CAPSTAN_SECRET_NAME)";
  return command.option("--secrets-dir <dir>", text);
}

function streamDialect(): Option {
  const text = "whose defaults sources, sinks and queries of streams have (capstan)";
  return new Option("--stream-dialect <name>", text).choices(["capstan", "nebulastream"]);
}

function logLevel(): Option {
  const levels = ["debug", "info", "warn", "error"];
  return new Option("--log-level <level>").choices(levels).default("info");
}

function logFormat(command: Command): Command {
  return command
    .optionsGroup("Output:")
    .addOption(
      new Option("--log-format <format>", "json unless at a terminal").choices(["json", "short"]),
    )
    .option("--json", "the same as --log-format json");
}

const programHelp = `
Start here:
  $ capstan up                                  everything on this machine; open http://127.0.0.1:4600
  $ capstan promql up                           what is up, asked of Capstan's own metrics
  $ capstan sql -c "SELECT 42 AS answer"        a query, run by a worker
  $ capstan workers                             who does the work

Exit status:
  0  done                        3  no coordinator answers
  1  what was asked for failed   4  not authorised: token missing, unknown, or not enough
  2  wrong usage                 130  interrupted

Environment:
  CAPSTAN_URL, CAPSTAN_TOKEN                     for commands that ask a running Capstan
  CAPSTAN_TOKENS, CAPSTAN_CLUSTER_TOKEN, CAPSTAN_STORE, CAPSTAN_LAKE   for processes
  OTEL_EXPORTER_OTLP_ENDPOINT                    where processes send their spans
  NO_COLOR                                       no colours
`;
