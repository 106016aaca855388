/** Tables as a coordinator shows them, in any state that a test or a screenshot needs. */
import type { ServerResponse } from "node:http";
import type {
  DynamicTable,
  DynamicTableDetail,
  LagSeries,
  LakeTable,
  Refresh,
} from "../src/api/gen/types.ts";

export class FakeTables {
  readonly plain = new Map<string, LakeTable>();
  readonly dynamic = new Map<string, DynamicTable>();
  history: readonly Refresh[] = [];
  /** When set, changes are refused as for a read-only token. */
  readOnly = false as boolean;
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  add(name: string, changes: Partial<LakeTable> = {}): void {
    this.plain.set(name, fakeTable(name, changes));
  }

  /** Adds a table that reads `sources`; missing sources are added as plain tables. */
  addDynamic(name: string, sources: readonly string[], changes: Partial<DynamicTable> = {}): void {
    for (const source of sources) {
      if (!this.plain.has(source) && !this.dynamic.has(source)) this.add(source);
    }
    this.dynamic.set(name, {
      ...fakeDynamicTable(name),
      sources: sources.map((source) => ({
        name: source,
        kind: this.dynamic.has(source) ? "dynamic" : "plain",
      })),
      ...changes,
    });
  }

  change(name: string, changes: Partial<DynamicTable>): void {
    const table = this.dynamic.get(name);
    if (table !== undefined) this.dynamic.set(name, { ...table, ...changes });
    this.#onChange();
  }

  /** Returns false when the request is not about tables. */
  answer(method: string, url: URL, response: ServerResponse): boolean {
    const [, list, encoded, part] =
      /^\/api\/v1\/(tables|dynamic-tables)(?:\/([^/]+))?(?:\/(\w+))?$/.exec(url.pathname) ?? [];
    if (list === undefined) return false;
    const name = encoded === undefined ? undefined : decodeURIComponent(encoded);
    if (name === undefined) {
      const items = list === "tables" ? this.#tables() : this.#dynamicTables();
      send(response, { snapshot: 7, now_ms: Date.now(), items, next_page_token: null });
    } else if (list === "tables") {
      sendRows(response);
    } else {
      this.#answerOne(method, name, part, response);
    }
    return true;
  }

  #answerOne(
    method: string,
    name: string,
    part: string | undefined,
    response: ServerResponse,
  ): void {
    const table = this.#dynamicTables().find((each) => each.name === name);
    if (table === undefined) {
      send(response, { code: "not_found", message: `there is no dynamic table ${name}` }, 404);
    } else if (method !== "GET") {
      this.#act(table, method === "DELETE" ? "drop" : part, response);
    } else if (part === "history") {
      send(response, { items: this.history, next_page_token: null });
    } else if (part === "lag") {
      send(response, fakeLag(table));
    } else {
      const detail: DynamicTableDetail = {
        ...table,
        now_ms: Date.now(),
        definition: `SELECT category, sum(amount) AS revenue, count(*) AS n\nFROM ${table.sources[0]?.name ?? "orders"}\nWHERE amount > 0\nGROUP BY category`,
        table: fakeTable(name),
      };
      send(response, detail);
    }
  }

  #act({ name }: DynamicTable, verb: string | undefined, response: ServerResponse): void {
    if (this.readOnly) {
      const body = {
        code: "forbidden",
        message: "this token may read, not operate",
        hint: "Use a token with the role operate.",
      };
      send(response, body, 403);
      return;
    }
    if (verb === "drop") this.dynamic.delete(name);
    else if (verb === "refresh")
      this.change(name, { activity: "refreshing", refreshed_by: "worker-1" });
    else this.change(name, { status: verb === "suspend" ? "SUSPENDED" : "ACTIVE" });
    this.#onChange();
    send(response, { name });
  }

  #tables(): readonly LakeTable[] {
    const readersOf = (name: string): string[] => this.#readersOf(name);
    const dynamic = [...this.dynamic.keys()].map((name) => fakeTable(name, { kind: "dynamic" }));
    return [...this.plain.values(), ...dynamic].map((table) => ({
      ...table,
      readers: readersOf(table.name),
    }));
  }

  #dynamicTables(): readonly DynamicTable[] {
    return [...this.dynamic.values()].map((table) => ({
      ...table,
      readers: this.#readersOf(table.name),
    }));
  }

  #readersOf(name: string): string[] {
    return [...this.dynamic.values()]
      .filter(({ sources }) => sources.some((source) => source.name === name))
      .map((table) => table.name);
  }
}

function fakeTable(name: string, changes: Partial<LakeTable> = {}): LakeTable {
  const column = { nullable: true, default: null };
  return {
    name,
    schema: "main",
    table_id: hash(name),
    kind: "plain",
    columns: [
      { name: "category", type: "VARCHAR", ...column },
      { name: "revenue", type: "DECIMAL(38,2)", ...column },
      { name: "n", type: "BIGINT", ...column },
    ],
    row_count: hash(name) % 100_000,
    size_bytes: (hash(name) % 100_000) * 37,
    file_count: 1 + (hash(name) % 9),
    changed_snapshot: 7,
    readers: [],
    ...changes,
  };
}

function fakeDynamicTable(name: string): DynamicTable {
  const nowMs = Date.now();
  const ageMs = 2_000 + (hash(name) % 20_000);
  return {
    name,
    schema: "main",
    table_id: hash(name),
    status: "ACTIVE",
    status_reason: "",
    wait_reason: "",
    activity: "idle",
    refreshed_by: null,
    lag_ms: ageMs,
    target_lag_ms: 30_000,
    effective_target_lag_ms: 30_000,
    late_since_ms: null,
    lag_missed_count: 0,
    mode: "INCREMENTAL",
    mode_wish: "AUTO",
    mode_reason: "groups whose aggregates can be merged",
    is_volatile: false,
    last_refresh: { state: "SUCCEEDED", action: "INCREMENTAL", at_ms: nowMs - ageMs + 400 },
    last_error: null,
    failures_in_a_row: 0,
    next_due_ms: nowMs + 26_000 - ageMs,
    expected_duration_ms: 180,
    data_snapshot: 7,
    data_time_ms: nowMs - ageMs,
    created_at_ms: nowMs - 3_600_000,
    sources: [],
    readers: [],
  };
}

export function fakeRefresh(number: number, changes: Partial<Refresh> = {}): Refresh {
  const endedMs = Date.now() - (30 - number) * 25_000;
  return {
    number,
    state: "SUCCEEDED",
    action: number % 7 === 0 ? "FULL" : "INCREMENTAL",
    trigger: "SCHEDULED",
    attempt: 1,
    repeats: 1,
    started_at_ms: endedMs - 90 - ((number * 37) % 240),
    ended_at_ms: endedMs,
    data_time_ms: endedMs - 300,
    source_snapshot: number,
    snapshot: number + 1,
    rows_inserted: (number * 131) % 900,
    rows_deleted: (number * 53) % 400,
    reason: "0.4 % of the rows changed",
    part_count: number % 7 === 0 ? 2 : 1,
    worker_count: number % 7 === 0 ? 2 : 1,
    worker_id: `worker-${1 + (number % 2)}`,
    error: null,
    ...changes,
  };
}

function fakeLag({ effective_target_lag_ms }: DynamicTable): LagSeries {
  const nowMs = Date.now();
  const fromMs = nowMs - 300_000;
  const points: LagSeries["points"][number][] = [];
  let dataMs = fromMs - 8_000;
  for (let atMs = fromMs; atMs < nowMs; ) {
    const spanMs = 18_000 + (Math.round(atMs / 1_000) % 7) * 2_500;
    points.push({ at_ms: atMs, lag_ms: atMs - dataMs, estimated: false });
    dataMs = atMs - 400;
    points.push({ at_ms: atMs, lag_ms: 400, estimated: false });
    atMs += spanMs;
  }
  points.push({ at_ms: nowMs, lag_ms: nowMs - dataMs, estimated: false });
  return { now_ms: nowMs, from_ms: fromMs, effective_target_lag_ms, points };
}

function sendRows(response: ServerResponse): void {
  const columns = [
    { name: "category", type: "VARCHAR" },
    { name: "revenue", type: "DECIMAL(38,2)" },
    { name: "n", type: "BIGINT" },
  ];
  const rows = ["books", "games", "garden", "music", "tools"].map(
    (category, index) => `["${category}",${(index + 1) * 1234.5}0,${(index + 3) * 17}]`,
  );
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  response.end(
    `${JSON.stringify({ query_id: "q1", columns })}\n${rows.join("\n")}\n` +
      '{"summary":{"row_count":5,"duration_ms":9,"worker_id":"worker-1","artifact_bytes":300}}\n',
  );
}

function send(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** A number that stays the same for a name. */
function hash(name: string): number {
  let value = 7;
  for (const character of name) value = (value * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003;
  return value;
}
