/** Answers of statements, as the tables that the prompt prints. */

import type { LocalAnswer } from "../../../../data/statements/core/index.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type {
  CatalogBody,
  CatalogObject,
  ChangeAnswer,
  LogicalSourceBody,
  PhysicalSourceBody,
  QueryBody,
  SinkBody,
  StreamWorkerBody,
} from "../core/bodies.ts";
import { printSchema, printStatement } from "../core/print-statement.ts";
import { isChange, type StatementAnswer } from "../service/stream-catalog.ts";
import { queryColumns, queryLines, shortStatement } from "./query-table.ts";

type Created = Extract<ChangeAnswer, { readonly kind: "created" }>;
type Replaced = NonNullable<Created["replaced"]>;

/** One row for each statement that changes something; or the rows of the one that asks. */
export function answerOf(answers: readonly StatementAnswer[]): LocalAnswer {
  const [first] = answers;
  if (first?.kind === "explained") {
    return table(
      ["plan"],
      first.text.split("\n").map((line) => [line]),
    );
  }
  if (first?.kind === "shown") return shown(first);
  if (first?.kind === "query") {
    if (first.format === "json") return table(["json"], [[JSON.stringify(first.query)]]);
    return table(queryColumns, queryLines(first.query));
  }
  if (first?.kind === "checkpoints") return shownCheckpoints(first);
  const changes = answers.filter(isChange);
  return table(["object", "name", "id", "status"], changes.map(changeRow));
}

/** A bundle changes; what it would show has no place in its answer. */
export function refuseQuestion(text: string): OperatingError {
  const [word = ""] = text.trim().split(/\s/, 1);
  return new OperatingError("bad_request", "never", `a bundle has no ${word.toUpperCase()}`, {
    hint: "Ask before BEGIN or after COMMIT.",
  });
}

/** Object, name, id and status. */
export function changeRow(
  answer: ChangeAnswer,
): readonly [string, string | null, string | null, string] {
  switch (answer.kind) {
    case "created": {
      const { object, id, name, existed, replaced, from } = answer;
      if (replaced !== undefined) return [object, name, id, replacing(replaced, from)];
      if (from !== undefined) return [object, name, id, `accepted: it begins ${startOf(from)}`];
      const done = object === "query" ? "accepted" : "created";
      return [object, name, id, existed ? "exists already" : done];
    }
    case "dropped": {
      const { object, name, row } = answer;
      if (row === null) return [object, name, null, "there is none"];
      return [object, name, idOf(row), object === "query" ? "accepted: it is stopped" : "dropped"];
    }
    case "savepoint":
      return savepointRow(answer);
    case "desired": {
      const status =
        answer.desired === "PAUSED" ? "accepted: it is paused" : "accepted: it resumes";
      return ["query", answer.name, answer.id, status];
    }
  }
}

function savepointRow({
  done,
  id,
  name,
  checkpoint,
}: Extract<ChangeAnswer, { readonly kind: "savepoint" }>): ReturnType<typeof changeRow> {
  const number = checkpoint === null ? null : `${checkpoint}`;
  const status =
    done === "asked"
      ? checkpoint === null
        ? "accepted: it is not taken yet"
        : "taken: it is kept"
      : done === "dropped"
        ? "dropped"
        : "there is none";
  return ["checkpoint", name ?? id, number, status];
}

function shownCheckpoints({
  rows,
  format,
}: Extract<StatementAnswer, { readonly kind: "checkpoints" }>): LocalAnswer {
  if (format === "json") {
    return table(
      ["json"],
      rows.map((row) => [JSON.stringify(row)]),
    );
  }
  return table(
    ["query", "checkpoint", "kind", "epoch", "size_bytes", "completed", "duration_ms"],
    rows.map((row) => [
      row.name ?? row.query_id,
      row.checkpoint,
      row.kind,
      row.epoch,
      row.size_bytes,
      new Date(row.completed_at_ms).toISOString(),
      row.duration_ms,
    ]),
  );
}

function replacing({ query_id, state }: Replaced, from: Created["from"]): string {
  return `accepted: it replaces the query ${query_id}, which was ${state}, and begins ${startOf(from)} when that is gone`;
}

function startOf(from: Created["from"]): string {
  if (from === undefined) return "with fresh state";
  return `from the checkpoint ${from.checkpoint} of the query ${from.query_id}`;
}

function idOf(row: CatalogBody): string {
  if ("query_id" in row) return row.query_id;
  if ("sink_id" in row) return row.sink_id;
  if ("physical_source_id" in row) return row.physical_source_id;
  return "source_id" in row ? row.source_id : row.worker_id;
}

function shown({
  object,
  rows,
  format,
  asStatement,
}: Extract<StatementAnswer, { readonly kind: "shown" }>): LocalAnswer {
  if (asStatement)
    return table(
      ["statement"],
      rows.flatMap((row) => printStatement(row).split("\n")).map((line) => [line]),
    );
  if (format === "json")
    return table(
      ["json"],
      rows.map((row) => [JSON.stringify(row)]),
    );
  const { columns, cells } = layouts[object];
  return table(
    columns,
    rows.map((row) => cells(row as never)),
  );
}

interface Layout<Body> {
  readonly columns: readonly string[];
  readonly cells: (body: Body) => readonly unknown[];
}

const sources: Layout<LogicalSourceBody> = {
  columns: ["name", "kind", "columns", "definition"],
  cells: ({ name, kind, schema, definition }) => [name, kind, printSchema(schema), definition],
};
const physicalSources: Layout<PhysicalSourceBody> = {
  columns: ["id", "logical_source", "type", "worker", "config", "parser"],
  cells: (row) => [
    row.physical_source_id,
    row.logical_source,
    row.type,
    row.worker_id,
    JSON.stringify(row.config),
    JSON.stringify(row.parser),
  ],
};
const sinks: Layout<SinkBody> = {
  columns: ["name", "type", "worker", "columns", "config", "formatter"],
  cells: (row) => [
    row.name,
    row.type,
    row.worker_id,
    row.schema === null ? null : printSchema(row.schema),
    JSON.stringify(row.config),
    JSON.stringify(row.formatter),
  ],
};
const queries: Layout<QueryBody> = {
  columns: ["id", "name", "state", "reason", "wanted", "fragments", "guarantee", "statement"],
  cells: (row) => [
    row.query_id,
    row.name,
    row.detail === null ? row.state : `${row.state} (${row.detail})`,
    row.state_reason,
    row.stop_mode === null ? row.desired_state : `${row.desired_state} (${row.stop_mode})`,
    Object.entries(row.fragments)
      .map(([state, count]) => `${count} ${state}`)
      .join(", "),
    row.guarantee,
    shortStatement(row.statement),
  ],
};
const workers: Layout<StreamWorkerBody> = {
  columns: ["id", "label", "address", "state", "slots_used", "slots", "peers"],
  cells: (row) => [
    row.worker_id,
    row.label,
    `${row.host}:${row.grpc_port}`,
    row.draining ? `${row.state}, draining` : row.state,
    row.slots_used,
    row.slots,
    row.peers.join(", "),
  ],
};

const layouts: Readonly<Record<CatalogObject, Layout<never>>> = {
  "logical source": sources,
  view: sources,
  "physical source": physicalSources,
  sink: sinks,
  query: queries,
  worker: workers,
};

const counts = new Set([
  ...["slots_used", "slots"],
  ...["checkpoint", "epoch", "size_bytes", "duration_ms"],
]);

function table(names: readonly string[], rows: readonly (readonly unknown[])[]): LocalAnswer {
  const columns = names.map((name) => ({ name, type: counts.has(name) ? "BIGINT" : "VARCHAR" }));
  return { columns, rows };
}
