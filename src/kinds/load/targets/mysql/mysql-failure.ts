/** What the server's error numbers mean. https://mariadb.com/kb/en/mariadb-error-codes/ */
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { FailureKind, OperationFailure } from "../../core/target.ts";
import { errorOfFailure } from "../session/bad-sql.ts";

interface MysqlError {
  readonly code: string;
  readonly errno: number;
  readonly sqlState: string;
  readonly isFatal: boolean;
}

const numbers: Readonly<Partial<Record<FailureKind, readonly number[]>>> = {
  connection: [1053, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1927],
  timeout: [1205, 1317, 1969, 3024, 3572],
  constraint: [1022, 1048, 1062, 1169, 1216, 1217, 1364, 1451, 1452, 1557, 1586, 1761, 3819, 4025],
  serialization: [1020],
  deadlock: [1213],
  permission: [1044, 1045, 1142, 1143, 1227, 1290, 1370],
  resources: [1021, 1037, 1038, 1040, 1041, 1114, 1203, 1206, 1226, 1461],
};

const kindByNumber = new Map(
  Object.entries(numbers).flatMap(([kind, each]) =>
    each.map((number) => [number, kind as FailureKind] as const),
  ),
);

const kindByClass: Readonly<Record<string, FailureKind>> = {
  "08": "connection",
  "23": "constraint",
  "28": "permission",
  "40": "serialization",
  "42": "syntax",
};

function errorOf(thrown: unknown): MysqlError {
  const given = (typeof thrown === "object" && thrown !== null ? thrown : {}) as {
    readonly code?: unknown;
    readonly errno?: unknown;
    readonly sqlState?: unknown;
    readonly fatal?: unknown;
  };
  return {
    code: String(given.code ?? "unknown"),
    errno: typeof given.errno === "number" ? given.errno : 0,
    sqlState: String(given.sqlState ?? ""),
    isFatal: given.fatal === true,
  };
}

/** By name and number alone: the server's text quotes values. */
export function mysqlFailureOf(thrown: unknown): OperationFailure {
  const { code, errno, sqlState, isFatal } = errorOf(thrown);
  const kind = isFatal
    ? "connection"
    : (kindByNumber.get(errno) ?? kindByClass[sqlState.slice(0, 2)] ?? "other");
  const number = errno > 0 ? ` (${errno})` : "";
  return { kind, code: errno > 0 ? String(errno) : code, message: `${code}${number}` };
}

/** For what a person asked: the server's words, where they are about the statement. */
export function mysqlError(thrown: unknown): OperatingError {
  return errorOfFailure(mysqlFailureOf(thrown), messageOf(thrown));
}

/** While connecting. Words of the server's about the door have no secret in them. */
export function unopened(place: string, thrown: unknown): OperatingError {
  const { errno, code, sqlState } = errorOf(thrown);
  const isRefusal = errno > 0 && sqlState !== "" && errno !== 1040;
  return isRefusal
    ? new OperatingError("target_refused", "never", `${place}: ${messageOf(thrown)}`)
    : new OperatingError("target_unreachable", "backoff", `${place}: ${code}`);
}
