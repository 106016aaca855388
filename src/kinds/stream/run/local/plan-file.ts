/** The statements of a file, applied to a catalog of their own, and the queries among them. */
import {
  DialectError,
  type DialectSettings,
  explainStatement,
  type LakeTable,
  LocalCatalog,
  type Plan,
  type Position,
  parseStatements,
  planQuery,
  type Statement,
  secretsOf,
} from "../../language/core/index.ts";

export interface PlannedQuery {
  readonly name: string;
  readonly plan: Plan;
}

export interface PlanFileOptions {
  /** Only checks the statements, so those that a coordinator answers are accepted. */
  readonly check?: boolean;
  /** Receives the answer of each EXPLAIN. */
  readonly explained?: (text: string) => void;
  /** The tables of the lake; absent where there is none. */
  readonly tables?: readonly LakeTable[] | undefined;
}

/** Statements take effect in their order, so a query sees what stands before it. */
export function planFile(
  text: string,
  dialect: DialectSettings,
  { check = false, explained, tables }: PlanFileOptions = {},
): readonly PlannedQuery[] {
  const catalog = new LocalCatalog(dialect, tables);
  const queries: PlannedQuery[] = [];
  for (const statement of parseStatements(text)) {
    if (!check) refuseCoordinators(statement);
    if (catalog.apply(statement)) continue;
    if (statement.kind === "explain") explained?.(explainStatement(statement, catalog, dialect));
    if (statement.kind === "preview") planQuery(statement.query, catalog, dialect);
    if (statement.kind !== "query" && statement.kind !== "createQuery") continue;
    const name =
      statement.kind === "createQuery" ? statement.name.text : `query-${queries.length + 1}`;
    const plan = planQuery(statement.query, catalog, dialect);
    if (!check) refuseSecrets(plan, statement.position);
    queries.push({ name, plan });
  }
  return queries;
}

/** What only a coordinator can answer is refused by name (SU31). */
function refuseCoordinators(statement: Statement): void {
  const words = wordsOf(statement);
  if (words === undefined) return;
  throw new DialectError(2029, `${words} needs a running Capstan`, {
    position: statement.position,
    hint: "capstan stream run has one process and forgets everything at its end: leave the statement out.",
  });
}

/** Nobody is here who would know their values. */
function refuseSecrets(plan: Plan, position: Position): void {
  const [name] = secretsOf(plan);
  if (name === undefined) return;
  throw new DialectError(1000, `SECRET('${name}') needs a running Capstan`, {
    position,
    hint: "Give the value in its place.",
  });
}

function wordsOf(statement: Statement): string | undefined {
  if (statement.kind === "createWorker") return "CREATE WORKER";
  if (statement.kind === "show") return "SHOW";
  if (statement.kind === "pause") return "PAUSE QUERY";
  if (statement.kind === "resume") return "RESUME QUERY";
  if (statement.kind === "preview") return "PREVIEW";
  if (statement.kind === "query" || statement.kind === "createQuery") {
    return statement.from === undefined ? undefined : "FROM CHECKPOINT";
  }
  if (statement.kind === "checkpoint") return "CHECKPOINT QUERY";
  if (statement.kind === "dropCheckpoint") return "DROP CHECKPOINT";
  if (statement.kind === "showCheckpoints") return "SHOW CHECKPOINTS";
  if (statement.kind !== "drop") return undefined;
  const isRemote = statement.object === "query" || statement.object === "worker";
  return isRemote ? `DROP ${statement.object.toUpperCase()}` : undefined;
}
