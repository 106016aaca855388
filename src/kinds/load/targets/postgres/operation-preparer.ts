/**
 * Turns operations into plans of prepared statements, each statement prepared once on a connection.
 */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Operation, OperationStatement } from "../../core/operation.ts";
import { namedSqlOf } from "../named-sql.ts";
import { OperationPlan, type Round } from "./execution.ts";
import {
  type Described,
  declaredTypesOf,
  isTypeUnknown,
  namedPosition,
  sqlOf,
} from "./prepare-statement.ts";
import type { ServerError } from "./server-error.ts";
import { Statement, type StatementParameter } from "./statement.ts";

type Describe = (name: string, sql: string, types: readonly number[]) => Promise<Described>;

export class OperationPreparer {
  readonly #place: string;
  readonly #isPipelined: boolean;
  readonly #describe: Describe;
  readonly #statements = new Map<string, Promise<Statement | ServerError>>();

  constructor(place: string, options: { readonly isPipelined: boolean }, describe: Describe) {
    this.#place = place;
    this.#isPipelined = options.isPipelined;
    this.#describe = describe;
  }

  async prepare(operation: Operation): Promise<OperationPlan> {
    const statements: Statement[] = [];
    for (const statement of operation.statements) {
      statements.push(await this.#prepareOf(operation, statement));
    }
    return new OperationPlan(operation, await this.#roundsOf(operation, statements));
  }

  /** BEGIN, COMMIT, ROLLBACK. */
  async prepareWord(word: string): Promise<Statement> {
    const prepared = await this.#prepareStatement(word, [], []);
    if (prepared instanceof Statement) return prepared;
    throw new OperatingError("target_refused", "never", `${word}: ${prepared.message}`);
  }

  async #roundsOf(operation: Operation, statements: readonly Statement[]): Promise<Round[]> {
    if (!operation.isTransaction) return statements.map((statement) => [statement]);
    // Statements up to one Sync are a transaction by themselves: nobody has to wait for BEGIN.
    if (this.#isPipelined) return [statements];
    const begin = await this.prepareWord("BEGIN");
    const commit = await this.prepareWord("COMMIT");
    return [begin, ...statements, commit].map((statement) => [statement]);
  }

  async #prepareOf(operation: Operation, statement: OperationStatement): Promise<Statement> {
    const sql = sqlOf(statement);
    const parameters = statement.parameters.map((index) => ({
      index,
      type: operation.parameters[index]?.type ?? ("text" as const),
    }));
    let prepared = await this.#prepareStatement(sql, parameters, []);
    if (!(prepared instanceof Statement) && isTypeUnknown(prepared)) {
      const types = declaredTypesOf(operation, statement);
      prepared = await this.#prepareStatement(sql, parameters, types);
    }
    if (prepared instanceof Statement) return prepared;
    throw badSql(operation, statement, prepared);
  }

  #prepareStatement(
    sql: string,
    parameters: readonly Omit<StatementParameter, "oid">[],
    types: readonly number[],
  ): Promise<Statement | ServerError> {
    const key = JSON.stringify([sql, parameters, types]);
    const known = this.#statements.get(key);
    if (known !== undefined) return known;
    const name = `capstan_${this.#statements.size}`;
    const prepared = this.#describe(name, sql, types).then((described) => {
      if ("error" in described) return described.error;
      if ("broken" in described) {
        const message = `${this.#place} was lost: ${described.broken}`;
        throw new OperatingError("target_unreachable", "backoff", message);
      }
      return new Statement(
        name,
        described.oids.map((oid, at) => ({ index: -1, type: "text", ...parameters[at], oid })),
      );
    });
    this.#statements.set(key, prepared);
    return prepared;
  }
}

function badSql(
  operation: Operation,
  statement: OperationStatement,
  { message, position, code }: ServerError,
): OperatingError {
  const number = operation.statements.indexOf(statement) + 1;
  const at = position === 0 ? "" : ` at character ${namedPosition(operation, statement, position)}`;
  const text = `operation ${operation.name}, statement ${number}: ${message}${at} (${code})`;
  return new OperatingError("bad_sql", "never", text, {
    hint: namedSqlOf(operation, statement),
  });
}
