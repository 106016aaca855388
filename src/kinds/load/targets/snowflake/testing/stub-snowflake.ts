/**
 * A stub of Snowflake's HTTP protocol, as far as its client uses it here: login, query, abort, end
 * of a session. Statements are DuckDB's to compute; `SYSTEM$WAIT`, SHOW WAREHOUSES and
 * QUERY_HISTORY are answered here.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { gunzipSync } from "node:zlib";
import { type DuckDBConnection, DuckDBInstance, ResultReturnType } from "@duckdb/node-api";

export interface StubQuery {
  readonly sql: string;
  readonly tag: unknown;
  readonly endMs: number;
}

export interface StubSnowflake {
  readonly url: string;
  readonly queries: readonly StubQuery[];
  readonly aborted: readonly string[];
  readonly logins: readonly Readonly<Record<string, unknown>>[];
  /** How many of its queries the history knows yet. */
  historyMax: number;
  /** A server that answers queries as it likes; `undefined`: as usual. */
  answerAs: ((sql: string) => Answer | { readonly redirect: string } | undefined) | undefined;
  /** Sessions are gone: whoever uses one is told so. */
  forgetSessions(): void;
  close(): Promise<void>;
}

interface Bind {
  readonly type: string;
  readonly value: string | null;
}

interface QueryBody {
  readonly sqlText: string;
  readonly bindings?: Readonly<Record<string, Bind>>;
  readonly describeOnly?: boolean;
  readonly parameters?: Readonly<Record<string, unknown>>;
}

export type Answer = Readonly<Record<string, unknown>>;

interface Column {
  readonly name: string;
  readonly type: "fixed" | "real" | "text" | "boolean";
}

const gone: Answer = {
  success: false,
  code: "390111",
  message: "Session no longer exists.",
  data: null,
};
const password = "right";

/** `nowMs`: when a query ends; each a millisecond after the one before unless given. */
export async function startStubSnowflake(nowMs?: () => number): Promise<StubSnowflake> {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const sessions = new Map<string, DuckDBConnection>();
  const queries: StubQuery[] = [];
  const aborted: string[] = [];
  const logins: Record<string, unknown>[] = [];
  const waiting = new Map<string, (answer: Answer) => void>();
  const stub: Pick<StubSnowflake, "historyMax" | "answerAs"> = {
    historyMax: Infinity,
    answerAs: undefined,
  };
  let count = 0;

  const login = async (body: { data: Record<string, unknown> }): Promise<Answer> => {
    const { PASSWORD: given, ...rest } = body.data;
    logins.push(rest);
    if (given !== password) {
      return {
        success: false,
        code: "390100",
        message: "Incorrect username or password.",
        data: {},
      };
    }
    count += 1;
    const token = `token-${count}`;
    sessions.set(token, await instance.connect());
    const data = {
      token,
      masterToken: `master-${count}`,
      sessionId: count,
      validityInSeconds: 3600,
      masterValidityInSeconds: 14_400,
      parameters: [],
      sessionInfo: {},
    };
    return { success: true, code: null, message: null, data };
  };

  const query = async (token: string, requestId: string, body: QueryBody): Promise<Answer> => {
    const given = stub.answerAs?.(body.sqlText);
    if (given !== undefined) return given;
    const session = sessions.get(token);
    if (session === undefined) return gone;
    if (body.describeOnly !== true) {
      const tag = body.parameters?.QUERY_TAG ?? "";
      queries.push({ sql: body.sqlText, tag, endMs: nowMs?.() ?? 1000 + queries.length });
    }
    if (/SYSTEM\$WAIT/i.test(body.sqlText)) {
      if (body.describeOnly === true) return rowsAnswer([{ name: "W", type: "text" }], [], 0x1000);
      return new Promise((resolve) => waiting.set(requestId, resolve));
    }
    if (/^SHOW WAREHOUSES/i.test(body.sqlText)) return warehouses();
    if (/QUERY_HISTORY/.test(body.sqlText)) {
      return history(queries.slice(0, stub.historyMax), body);
    }
    return compute(session, body);
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const bytes = Buffer.concat(pieces);
    const isZipped = request.headers["content-encoding"] === "gzip";
    const text = (isZipped ? gunzipSync(bytes) : bytes).toString();
    const url = new URL(request.url ?? "", "http://stub");
    const token = /Token="([^"]+)"/.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const done = await route(url, text === "" ? {} : JSON.parse(text), token);
    if (typeof done.redirect === "string") response.writeHead(307, { location: done.redirect });
    else response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(done));
  };

  const route = async (url: URL, body: unknown, token: string): Promise<Answer> => {
    if (url.pathname === "/session/v1/login-request") return login(body as never);
    if (url.pathname === "/queries/v1/query-request") {
      return query(token, url.searchParams.get("requestId") ?? "", body as QueryBody);
    }
    if (url.pathname === "/queries/v1/abort-request") {
      const { requestId } = body as { readonly requestId: string };
      aborted.push(requestId);
      waiting.get(requestId)?.(failure("000604", "57014", "SQL execution canceled"));
      waiting.delete(requestId);
    }
    return { success: true, code: null, message: null, data: {} };
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return Object.assign(stub, {
    url: `http://127.0.0.1:${address.port}`,
    queries,
    aborted,
    logins,
    forgetSessions: () => {
      sessions.clear();
      for (const resolve of waiting.values()) resolve(gone);
      waiting.clear();
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      instance.closeSync();
    },
  });
}

async function compute(session: DuckDBConnection, body: QueryBody): Promise<Answer> {
  try {
    const prepared = await session.prepare(body.sqlText);
    if (body.describeOnly === true) return rowsAnswer([], [], 0x1000);
    for (const [at, { type, value }] of Object.entries(body.bindings ?? {})) {
      if (value === null) prepared.bindNull(Number(at));
      else if (type === "FIXED") prepared.bindBigInt(Number(at), BigInt(value));
      else if (type === "REAL") prepared.bindDouble(Number(at), Number(value));
      else if (type === "BOOLEAN") prepared.bindBoolean(Number(at), value === "true");
      else prepared.bindVarchar(Number(at), value);
    }
    const result = await prepared.run();
    if (result.returnType === ResultReturnType.CHANGED_ROWS) {
      const changed: Column = { name: "number of rows", type: "fixed" };
      return rowsAnswer([changed], [[String(result.rowsChanged)]], 0x3100);
    }
    const types = result.columnTypes().map(String);
    const columns = result
      .columnNames()
      .map((name, at): Column => ({ name, type: columnType(types[at] ?? "") }));
    const rows = (await result.getRowsJS()).map((row) =>
      row.map((value) => (value === null ? null : String(value))),
    );
    return rowsAnswer(columns, rows, 0x1000);
  } catch (error) {
    const message = String(error);
    return /Constraint|constraint/.test(message)
      ? failure("200001", "22000", message)
      : failure("001003", "42000", message);
  }
}

function columnType(type: string): Column["type"] {
  if (/INT|DECIMAL/.test(type)) return "fixed";
  if (/DOUBLE|FLOAT/.test(type)) return "real";
  return type === "BOOLEAN" ? "boolean" : "text";
}

function rowsAnswer(
  columns: readonly Column[],
  rows: readonly (readonly (string | null)[])[],
  statementTypeId: number,
): Answer {
  const data = {
    queryId: "01b2c3d4-0000-0000-0000-000000000000",
    queryResultFormat: "json",
    version: 1,
    parameters: [],
    rowtype: columns.map(({ name, type }) => ({
      name,
      type,
      nullable: true,
      scale: type === "fixed" ? 0 : null,
      precision: type === "fixed" ? 38 : null,
    })),
    rowset: rows,
    total: rows.length,
    returned: rows.length,
    statementTypeId,
  };
  return { success: true, code: null, message: null, data };
}

function failure(code: string, sqlState: string, message: string): Answer {
  return { success: false, code, message, data: { sqlState, queryId: "q", errorCode: code } };
}

function warehouses(): Answer {
  const names = [
    "name",
    "state",
    "started_clusters",
    "running",
    "queued",
    "min_cluster_count",
    "max_cluster_count",
    "scaling_policy",
  ];
  return rowsAnswer(
    names.map((name) => ({ name, type: "text" })),
    [
      ["LOADXWH", "STARTED", "1", "0", "0", "1", "1", "STANDARD"],
      ["LOAD_WH", "STARTED", "2", "7", "3", "1", "4", "ECONOMY"],
    ],
    0x4000,
  );
}

/** Each query twice, as an overlap gives them, and another run's. */
function history(queries: readonly StubQuery[], { bindings }: QueryBody): Answer {
  const columns = Array.from({ length: 15 }, (_, at): Column => ({ name: `c${at}`, type: "text" }));
  const endMs = Number(bindings?.["2"]?.value);
  const rows = queries
    .filter((each) => each.endMs <= endMs)
    .map((each, at) => historyRow(`id-${1000 + at}`, String(each.tag), each.endMs, each.sql));
  return rowsAnswer(columns, [...rows, ...rows, historyRow("other", "another", 1000, "x")], 0x1000);
}

function historyRow(id: string, tag: string, endMs: number, sql: string): (string | null)[] {
  const times = [String(endMs - 5), String(endMs)];
  return [id, tag, ...times, "SUCCESS", null, "LOAD_WH", "1", "5", "3", "1", "1", "10", "100", sql];
}
