/** Random statements of the dialect: most of them bind, so that mutants reach every part of it. */
import type { Prng } from "../../src/ground/kernel/prng.ts";
import { nameMark, numberMark } from "./compiled-texts.ts";

/** What every statement may use. */
export const preparation = `
CREATE LOGICAL SOURCE zqxbids(zqxts UINT64 NOT NULL, zqxid INT32 NOT NULL, zqxprice FLOAT64, zqxname VARSIZED) WATERMARK(zqxts, 2 SEC);
CREATE PHYSICAL SOURCE FOR zqxbids TYPE File SET('zqxa.csv' AS "SOURCE".FILE_PATH);
CREATE PHYSICAL SOURCE FOR zqxbids TYPE File SET('zqxb.json' AS "SOURCE".FILE_PATH, 'JSON' AS INPUT_FORMATTER.TYPE);
CREATE LOGICAL SOURCE zqxasks(zqxat INT64 NOT NULL, zqxitem INT32, zqxcost FLOAT32, zqxflag BOOLEAN NOT NULL, zqxletter CHAR, zqxsmall INT8, zqxbig UINT64);
CREATE PHYSICAL SOURCE FOR zqxasks TYPE File SET('zqxc.csv' AS "SOURCE".FILE_PATH, 'skip' AS INPUT_FORMATTER.ON_MALFORMED);
CREATE VIEW zqxview AS SELECT zqxid, zqxts, zqxprice * 2 AS zqxdouble FROM zqxbids WHERE zqxid > 3;
CREATE SINK zqxout TYPE Void;
CREATE SINK zqxlate TYPE Void;
`;

export const lookupTables = [
  {
    name: "zqxcustomers",
    schema: [
      { name: "zqxkey", type: { name: "INT32", nullable: false } },
      { name: "zqxcity", type: { name: "VARSIZED", nullable: true } },
    ],
  },
] as const;

const numbers = ["zqxid", "zqxprice", "zqxts", "1", "0", "2.5", "-1", `${numberMark}21`, "1e300"];
const texts = ["zqxname", `'${nameMark}''\\';\`"*/'`, "''", "'%a_'", `'${nameMark}'`];
const functions = ["ABS", "CEIL", "ROUND", "SQRT", "SIGN", "TO_TEXT", "HASH", "ISNULL", "EXP"];
const textFunctions = ["UPPER", "TRIM", "LENGTH", "TO_BASE64", "OCTET_LENGTH", "LOWER"];
const aggregates = [
  ...["SUM", "MIN", "MAX", "AVG", "COUNT", "MEDIAN", "STDDEV", "VAR", "FIRST", "LAST"],
  ...["STDDEV_POP", "VAR_POP", "VARIANCE", "STDDEV_SAMP"],
];
const types = ["INT8", "INT64", "UINT16", "UINT64", "FLOAT32", "FLOAT64", "VARSIZED", "BOOLEAN"];

export class StatementMaker {
  readonly #prng: Prng;

  constructor(prng: Prng) {
    this.#prng = prng;
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#prng.below(items.length)] as T;
  }

  #number(depth: number): string {
    if (depth <= 0) return this.#pick(numbers);
    const below = (): string => this.#number(depth - 1);
    switch (this.#prng.below(9)) {
      case 0:
      case 1:
        return `${below()} ${this.#pick(["+", "-", "*", "/", "%", "&", "|", "^", "<<"])} ${below()}`;
      case 2:
        return `(${below()})`;
      case 3:
        return `${this.#pick(functions)}(${below()})`;
      case 4:
        return `CASE WHEN ${this.#condition(depth - 1)} THEN ${below()} ELSE ${below()} END`;
      case 5:
        return `CAST(${below()} AS ${this.#pick(types)})`;
      case 6:
        return `COALESCE(${below()}, ${below()})`;
      case 7:
        return `${below()}::${this.#pick(types)}`;
      default:
        return this.#pick(numbers);
    }
  }

  #text(depth: number): string {
    switch (this.#prng.below(6)) {
      case 0:
        return `${this.#pick(textFunctions)}(${this.#pick(texts)})`;
      case 1:
        return `${this.#pick(texts)} || ${this.#pick(texts)}`;
      case 2:
        return `SUBSTRING(${this.#pick(texts)}, ${this.#number(depth - 1)}, 2)`;
      case 3:
        return `REPLACE(${this.#pick(texts)}, ${this.#pick(texts)}, 'b')`;
      case 4:
        return `JSON_EXTRACT(${this.#pick(texts)}, '$.${nameMark}.a[0]')`;
      default:
        return this.#pick(texts);
    }
  }

  #condition(depth: number): string {
    const one = (): string => this.#number(depth - 1);
    switch (this.#prng.below(9)) {
      case 0:
        return `${one()} ${this.#pick(["=", "<", ">=", "!=", "<=>"])} ${one()}`;
      case 1:
        return `${one()} BETWEEN ${one()} AND ${one()}`;
      case 2:
        return `${one()} IN (${one()}, ${one()}, 3)`;
      case 3:
        return `${this.#text(depth)} LIKE ${this.#pick(["'%a_'", `'${nameMark}%'`, "'\\\\%'"])}`;
      case 4:
        return `${one()} IS ${this.#pick(["", "NOT "])}NULL`;
      case 5:
        return depth <= 0
          ? "TRUE"
          : `(${this.#condition(depth - 1)} ${this.#pick(["AND", "OR"])} ${this.#condition(depth - 1)})`;
      case 6:
        return `NOT (${one()} > 2)`;
      case 7:
        return `REGEXP_MATCHES(zqxname, '${this.#pick(["a+", `(${nameMark}|b)*c`, "[a-", "\\\\d{2,3}"])}')`;
      default:
        return `${one()} > ${one()}`;
    }
  }

  #expr(): string {
    return this.#prng.below(4) === 0 ? this.#text(2) : this.#number(3);
  }

  #duration(): string {
    return `${this.#pick(["1", "5", "10", "300", `${numberMark}0`])} ${this.#pick(["MS", "SEC", "MINUTE", "HOUR", "DAY"])}`;
  }

  #window(time: string): string {
    switch (this.#prng.below(5)) {
      case 0:
        return `WINDOW SLIDING(${time}, SIZE ${this.#duration()}, ADVANCE BY ${this.#duration()})`;
      case 1:
        return `WINDOW SESSION(${time}, GAP ${this.#duration()})`;
      case 2:
        return `WINDOW TUMBLING(SIZE ${this.#duration()})`;
      default:
        return `WINDOW TUMBLING(${time}, SIZE ${this.#duration()})`;
    }
  }

  #from(): string {
    switch (this.#prng.below(5)) {
      case 0:
        return "(SELECT * FROM zqxbids WHERE zqxid > 0)";
      case 1:
        return `(SELECT * FROM zqxbids UNION ALL SELECT zqxts, zqxid, 1.5, 'a' FROM zqxbids)`;
      default:
        return "zqxbids";
    }
  }

  #aggregate(index: number): string {
    const fn = this.#pick(aggregates);
    const distinct = this.#prng.below(5) === 0 ? "DISTINCT " : "";
    const filter = this.#prng.below(5) === 0 ? ` FILTER (WHERE ${this.#condition(1)})` : "";
    return `${fn}(${distinct}${this.#number(1)})${filter} AS zqxm${index}`;
  }

  #select(): string {
    const from = this.#from();
    const where = this.#prng.below(2) === 0 ? ` WHERE ${this.#condition(2)}` : "";
    switch (this.#prng.below(8)) {
      case 0: {
        const items = Array.from({ length: 1 + this.#prng.below(3) }, (_, at) =>
          this.#aggregate(at),
        );
        const having = this.#prng.below(3) === 0 ? " HAVING zqxm0 > 1" : "";
        return `SELECT start, zqxid, ${items.join(", ")} FROM ${from}${where} GROUP BY zqxid ${this.#window("zqxts")}${having}`;
      }
      case 1:
        return `SELECT start, zqxid, SUM(zqxprice) AS zqxsum FROM ${from}${where} GROUP BY zqxid ${this.#window("zqxts")} QUALIFY ROW_NUMBER() OVER (PARTITION BY start ORDER BY zqxsum DESC) <= 3`;
      case 2:
        return `SELECT zqxid, zqxcost FROM zqxbids ${this.#pick(["", "LEFT ", "RIGHT ", "FULL "])}JOIN zqxasks ON zqxid = zqxitem${this.#prng.below(2) === 0 ? " AND zqxprice > zqxcost" : ""} WINDOW TUMBLING(zqxts, zqxat, SIZE ${this.#duration()})`;
      case 3:
        return `SELECT zqxid, zqxflag FROM zqxbids JOIN zqxasks ON zqxid = zqxitem AND zqxat BETWEEN zqxts - ${this.#duration()} AND zqxts + 5 SEC`;
      case 4:
        return `SELECT zqxid, ${this.#pick(["LAG", "LAST_VALUE"])}(zqxprice) OVER (PARTITION BY zqxid ORDER BY zqxts STATE TTL ${this.#duration()}) AS zqxlag FROM zqxbids${where}`;
      case 5:
        return `SELECT zqxid, zqxcity FROM zqxbids ${this.#pick(["", "LEFT "])}JOIN TABLE zqxcustomers ON zqxid = zqxkey`;
      case 6:
        return `WITH zqxw AS (SELECT zqxid, zqxts FROM ${from}${where}) SELECT zqxid FROM zqxw QUALIFY ROW_NUMBER() OVER (PARTITION BY zqxid ORDER BY zqxts) = 1`;
      default: {
        const items = Array.from(
          { length: 1 + this.#prng.below(3) },
          (_, at) => `${this.#expr()} AS zqxc${at}`,
        );
        return `SELECT ${items.join(", ")} FROM ${from}${where}`;
      }
    }
  }

  statement(): string {
    switch (this.#prng.below(14)) {
      case 0:
        return `CREATE VIEW zqxv${this.#prng.below(9)} AS ${this.#select()}`;
      case 1:
        return `CREATE LOGICAL SOURCE zqxs${this.#prng.below(9)} (zqxa ${this.#pick(types)}, zqxb UINT64 NOT NULL) WATERMARK(zqxb, ${this.#duration()})`;
      case 2:
        return `CREATE PHYSICAL SOURCE FOR zqxbids TYPE ${this.#pick(["File", "TCP", "Generator"])} SET('zqx' AS "SOURCE".FILE_PATH, ${this.#pick(["'CSV' AS PARSER.TYPE", "TRUE AS INPUT_FORMATTER.HEADER", "'dead_letter' AS INPUT_FORMATTER.ON_MALFORMED", '\'localhost\' AS "SOURCE".SOCKET_HOST, 80 AS "SOURCE".SOCKET_PORT'])})`;
      case 3:
        return `${this.#pick(["DROP", "SHOW"])} ${this.#pick(["VIEW", "SINK", "LOGICAL SOURCE", "PHYSICAL SOURCE", "QUERY"])} zqxv${this.#prng.below(9)}`;
      case 4:
        return `EXPLAIN ${this.#select()} INTO zqxout`;
      default: {
        const set =
          this.#prng.below(5) === 0
            ? ` SET(${this.#pick([`'side' AS "QUERY".LATE, 'zqxlate' AS "QUERY".LATE_SINK`, `2 AS "QUERY".PARALLELISM`, `64 AS "QUERY".BUFFER_SIZE`])})`
            : "";
        const sink = this.#pick([
          "zqxout",
          "Print()",
          "Void()",
          "File('zqx' AS \"SINK\".FILE_PATH, 'JSON' AS \"SINK\".OUTPUT_FORMAT)",
        ]);
        return `${this.#select()} INTO ${sink}${set}`;
      }
    }
  }
}
