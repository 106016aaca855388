/**
 * The codes of operating errors, and what each means at the edges of a process. A room declares its
 * own codes in its `error-codes.ts`, as a table that is both their type and their rules:
 *
 *   const codes = declareErrorCodes({ bad_promql: { status: 422, work: "never" } });
 *   declare module "…/ground/kernel/error-codes.ts" {
 *     interface ErrorCodes extends Record<keyof typeof codes, true> {}
 *   }
 *
 * So a kind of work adds no line here. The table is filled while modules are loaded and never
 * changes afterwards; each thread has its own. `tools/tidy.ts` checks that every process and thread
 * that loads a room also loads its codes (EC1 to EC4).
 */
import { assert, type Retry } from "./errors.ts";

export interface CodeRule {
  /** The status of the HTTP answer. */
  readonly status: number;
  /** The exit status of a command, by its name in ground/command. Default: `failure`. */
  readonly exit?: "usage" | "notAuthorised";
  /**
   * Given when a work item may fail its query with this code: whether the same query may succeed
   * later. Without it the query fails with `query_failed`.
   */
  readonly work?: Retry;
  /** Its messages name files of this server; their paths are removed from HTTP answers. */
  readonly namesOwnFiles?: true;
}

export type CodeRules = Readonly<Record<string, CodeRule>>;

const rules = new Map<string, CodeRule>();

/** Called once for each table, when its module is loaded. */
export function declareErrorCodes<const Rules extends CodeRules>(table: Rules): Rules {
  for (const [code, rule] of Object.entries(table)) {
    assert(/^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(code), `${JSON.stringify(code)} is an error code`);
    assert(!rules.has(code), `the error code ${code} is declared once`);
    assert(rule.status >= 400 && rule.status <= 599, `${code} has the status of an error`);
    rules.set(code, rule);
  }
  return table;
}

/** Undefined for a text that no loaded room declares as a code. */
export function ruleOfCode(code: string): CodeRule | undefined {
  return rules.get(code);
}

/** Text from outside becomes an `ErrorCode` here only. */
export function parseErrorCode(text: string): ErrorCode | undefined {
  return rules.has(text) ? (text as ErrorCode) : undefined;
}

/** The codes that the ground itself uses. */
const ofGround = declareErrorCodes({
  already_exists: { status: 409 },
  artifact_corrupt: { status: 502, work: "backoff" },
  artifact_lost: { status: 502, work: "backoff" },
  bad_request: { status: 400, work: "never" },
  cancelled: { status: 409, work: "never" },
  commit_unknown: { status: 503 },
  conflict: { status: 409 },
  data_corrupt: { status: 500, work: "never" },
  data_dir_in_use: { status: 500, namesOwnFiles: true },
  data_dir_unusable: { status: 500, namesOwnFiles: true },
  deadline_exceeded: { status: 504, work: "backoff" },
  disk_full: { status: 507, work: "backoff", namesOwnFiles: true },
  forbidden: { status: 403, exit: "notAuthorised" },
  leader_unreachable: { status: 503, work: "backoff" },
  lease_lost: { status: 503 },
  not_found: { status: 404 },
  not_leader: { status: 503 },
  overloaded: { status: 429, work: "backoff" },
  port_in_use: { status: 500 },
  protocol_violation: { status: 502 },
  query_failed: { status: 502, work: "never" },
  query_too_large: { status: 422, work: "never" },
  reference_violated: { status: 409 },
  schema_absent: { status: 503, namesOwnFiles: true },
  schema_newer: { status: 503, namesOwnFiles: true },
  schema_older: { status: 503, namesOwnFiles: true },
  shutting_down: { status: 503, work: "backoff" },
  store_busy: { status: 503, namesOwnFiles: true },
  store_corrupt: { status: 500, work: "never", namesOwnFiles: true },
  store_unavailable: { status: 503, work: "backoff", namesOwnFiles: true },
  unauthenticated: { status: 401, exit: "notAuthorised" },
  unsafe_bind: { status: 500 },
  unsupported: { status: 501 },
  work_poisonous: { status: 422, work: "never" },
  worker_busy: { status: 409 },
  worker_name_taken: { status: 409 },
  worker_unreachable: { status: 503, work: "backoff" },
});

/** A room adds its codes by declaration merging. */
export interface ErrorCodes extends Record<keyof typeof ofGround, true> {}

export type ErrorCode = keyof ErrorCodes;
