/** What SHOW asks for: the filters of the request table, from names and conditions. */
import {
  type AstExpr,
  DialectError,
  type Position,
  type Statement,
} from "../../../language/core/index.ts";
import type { CatalogQuestion, ShowFilter } from "../changes.ts";
import { fragmentStates, queryStates } from "../states.ts";

type Show = Extract<Statement, { readonly kind: "show" }>;
type Key = keyof ShowFilter;

/** What a column of a condition means; for workers, where they run is what they are called. */
const columns: Readonly<Record<string, Key>> = {
  NAME: "byName",
  BY_NAME: "byName",
  LABEL: "byName",
  ID: "byId",
  BY_ID: "byId",
  QUERY_ID: "byId",
  PHYSICAL_SOURCE_ID: "byId",
  LOGICAL_SOURCE: "forLogical",
  FOR_LOGICAL: "forLogical",
  WORKER: "onWorker",
  WORKER_ID: "onWorker",
  HOST: "onWorker",
  HOST_NAME: "onWorker",
  PLACEMENT: "onWorker",
  ON_WORKER: "onWorker",
  ON_NODE: "onWorker",
  TYPE: "byType",
  BY_TYPE: "byType",
  SOURCE_TYPE: "byType",
  SINK_TYPE: "byType",
  STATE: "withState",
  WITH_STATE: "withState",
  CAPACITY: "withCapacity",
  FREE_SLOTS: "withCapacity",
  WITH_CAPACITY: "withCapacity",
};

const filters: Readonly<Record<Show["object"], readonly Key[]>> = {
  "logical source": ["byName"],
  view: ["byName"],
  "physical source": ["byId", "forLogical", "onWorker", "byType"],
  sink: ["byName", "onWorker", "byType"],
  query: ["byName", "byId", "withState", "onWorker"],
  worker: ["byName", "withState", "withCapacity"],
};

const states: ReadonlySet<string> = new Set([
  ...queryStates,
  ...fragmentStates,
  "ACTIVE",
  "UNREACHABLE",
]);

export function questionOf(statement: Show): CatalogQuestion {
  const { object, name, owner, where, format, asStatement } = statement;
  const filter = {
    ...(name === undefined ? {} : named(object, name.text)),
    ...(owner === undefined ? {} : { forLogical: owner.text }),
    ...(where === undefined ? {} : Object.assign({}, ...conditions(object, where))),
  };
  return { kind: "show", object, filter, format, asStatement, name: name?.text };
}

function named(object: Show["object"], name: string): ShowFilter {
  return object === "physical source" ? { byId: name } : { byName: name };
}

function conditions(object: Show["object"], where: AstExpr): readonly ShowFilter[] {
  if (where.kind === "binary" && where.op === "and") {
    return [...conditions(object, where.left), ...conditions(object, where.right)];
  }
  return [condition(object, where)];
}

function condition(object: Show["object"], where: AstExpr): ShowFilter {
  const { position } = where;
  if (where.kind !== "binary" || where.left.kind !== "name") throw unclear(object, position);
  const { op, left, right } = where;
  const found = columns[left.name.toUpperCase()];
  const key = object === "worker" && found === "onWorker" ? "byName" : found;
  if (key === undefined || !filters[object].includes(key)) {
    throw unclear(object, left.position, `SHOW has no column ${left.name} here`);
  }
  const value = right.kind === "text" ? right.value : right.kind === "number" ? right.text : "";
  if (value === "") throw unclear(object, right.position);
  if (key === "withCapacity") {
    const count = Number(value);
    if (op !== ">=" || !Number.isSafeInteger(count)) throw unclear(object, position);
    return { withCapacity: count };
  }
  if (op !== "=") throw unclear(object, position);
  if (key !== "withState") return { [key]: value };
  const state = value.toUpperCase();
  if (!states.has(state)) throw unclear(object, right.position, `there is no state ${value}`);
  return { withState: state as NonNullable<ShowFilter["withState"]> };
}

function unclear(
  object: Show["object"],
  position: Position,
  message = "SHOW takes comparisons with constants, connected by AND",
): DialectError {
  const known = Object.entries(columns)
    .filter(([, key]) => filters[object].includes(key))
    .map(([column, key]) => (key === "withCapacity" ? `${column} >= n` : `${column} = '…'`));
  return new DialectError(2000, message, { position, hint: `There are ${known.join(", ")}.` });
}
