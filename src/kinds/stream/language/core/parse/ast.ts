/**
 * Statements as they are written, each part with its place in the text. Nothing is resolved yet.
 */
import type { TypeName } from "../data-type.ts";
import type { Position } from "../dialect-error.ts";

/** A name in the spelling of the text. Names compare case-insensitively. */
export interface AstName {
  readonly text: string;
  readonly position: Position;
}

export type BinaryOperator =
  | "+"
  | "-"
  | "*"
  | "/"
  | "%"
  | "||"
  | "&"
  | "|"
  | "^"
  | "<<"
  | ">>"
  | "="
  | "!="
  | "<"
  | "<="
  | ">"
  | ">="
  | "<=>"
  | "and"
  | "or";

export type AstExpr = { readonly position: Position } & (
  | {
      readonly kind: "name";
      readonly qualifier: string | undefined;
      readonly name: string;
      /** Whether it stands in quotes, as a text might be meant to. */
      readonly quoted?: boolean;
    }
  /** Digits as they are written, perhaps hexadecimal, never with a sign. */
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "text"; readonly value: string }
  | { readonly kind: "boolean"; readonly value: boolean }
  | { readonly kind: "null" }
  | { readonly kind: "duration"; readonly ms: number }
  | { readonly kind: "negate" | "not"; readonly arg: AstExpr }
  | {
      readonly kind: "binary";
      readonly op: BinaryOperator;
      readonly left: AstExpr;
      readonly right: AstExpr;
    }
  | AstCall
  | {
      readonly kind: "case";
      readonly operand: AstExpr | undefined;
      readonly branches: readonly { readonly when: AstExpr; readonly result: AstExpr }[];
      readonly otherwise: AstExpr | undefined;
    }
  /** `lenient` is CASTTOTYPE, which leaves out what is no part of a number. */
  | {
      readonly kind: "cast";
      readonly arg: AstExpr;
      readonly type: TypeName;
      readonly lenient: boolean;
    }
  | {
      readonly kind: "in";
      readonly arg: AstExpr;
      readonly list: readonly AstExpr[];
      readonly negated: boolean;
    }
  | {
      readonly kind: "between";
      readonly arg: AstExpr;
      readonly low: AstExpr;
      readonly high: AstExpr;
      readonly negated: boolean;
    }
  | {
      readonly kind: "is";
      readonly arg: AstExpr;
      readonly what: "null" | "nan" | "true" | "false";
      readonly negated: boolean;
    }
  | {
      readonly kind: "like";
      readonly arg: AstExpr;
      readonly pattern: AstExpr;
      readonly negated: boolean;
    }
);

export interface AstCall {
  readonly kind: "call";
  readonly position: Position;
  readonly name: string;
  readonly args: readonly AstExpr[];
  /** `COUNT(*)`. */
  readonly star: boolean;
  readonly distinct: boolean;
  readonly filter: AstExpr | undefined;
  readonly over: AstOver | undefined;
}

export interface AstOrder {
  readonly expr: AstExpr;
  readonly descending: boolean;
}

export interface AstOver {
  readonly partition: readonly AstExpr[];
  readonly order: readonly AstOrder[];
  readonly ttlMs: number | undefined;
}

export type AstSelectItem =
  | { readonly kind: "star"; readonly qualifier: string | undefined; readonly position: Position }
  | {
      readonly kind: "expr";
      readonly expr: AstExpr;
      readonly alias: string | undefined;
      /** The expression as it is written, from which a name is made where there is no alias. */
      readonly text: string;
      readonly position: Position;
    };

export interface AstWindow {
  readonly position: Position;
  readonly kind: "tumbling" | "sliding" | "session";
  /** None means the time of reading. */
  readonly times: readonly AstExpr[];
  readonly sizeMs: number;
  /** The advance of a sliding window. */
  readonly advanceMs: number | undefined;
}

export interface AstWatermark {
  readonly position: Position;
  readonly column: AstExpr;
  readonly boundMs: number;
}

export type AstRelation = { readonly position: Position } & (
  | { readonly kind: "named"; readonly name: string; readonly alias: string | undefined }
  | { readonly kind: "query"; readonly query: AstQuery; readonly alias: string | undefined }
  | {
      readonly kind: "anonymous";
      readonly type: string;
      readonly settings: readonly AstSetting[];
      readonly alias: string | undefined;
    }
  | AstJoin
);

export interface AstJoin {
  readonly kind: "join";
  readonly position: Position;
  readonly join: "inner" | "left" | "right" | "full";
  readonly left: AstRelation;
  readonly right: AstRelation;
  /** `JOIN TABLE t`: the right side names a table of the lake. */
  readonly table: boolean;
  readonly on: AstExpr;
  readonly window: AstWindow | undefined;
}

export interface AstSelect {
  readonly kind: "select";
  readonly position: Position;
  readonly distinct: boolean;
  readonly items: readonly AstSelectItem[];
  readonly from: AstRelation;
  readonly watermark: AstWatermark | undefined;
  readonly where: AstExpr | undefined;
  /** Absent without GROUP BY. */
  readonly groupBy: readonly AstExpr[] | undefined;
  readonly window: AstWindow | undefined;
  readonly having: AstExpr | undefined;
  readonly qualify: AstExpr | undefined;
}

export type AstQueryBody =
  | AstSelect
  | {
      readonly kind: "union";
      readonly position: Position;
      readonly left: AstQueryBody;
      readonly right: AstQueryBody;
    }
  | {
      readonly kind: "nested";
      readonly position: Position;
      readonly query: AstQuery;
    };

export interface AstQuery {
  readonly position: Position;
  /** WITH name AS (query), in order. */
  readonly ctes: readonly { readonly name: AstName; readonly query: AstQuery }[];
  readonly body: AstQueryBody;
}

export interface AstField {
  readonly name: AstName;
  readonly type: TypeName;
  readonly nullable: boolean;
}

export interface AstSetting {
  /** `"SOURCE".FILE_PATH` as its parts. */
  readonly path: readonly AstName[];
  readonly position: Position;
  readonly value:
    | { readonly kind: "text"; readonly value: string }
    | { readonly kind: "number"; readonly text: string }
    | { readonly kind: "boolean"; readonly value: boolean }
    | { readonly kind: "schema"; readonly fields: readonly AstField[] }
    /** `SECRET('name')`. */
    | { readonly kind: "secret"; readonly name: string };
}

export type AstSink = { readonly position: Position } & (
  | { readonly kind: "named"; readonly name: string }
  | {
      readonly kind: "anonymous";
      readonly type: string;
      readonly settings: readonly AstSetting[];
    }
  /** The sink that PREVIEW adds: the client that reads the rows. */
  | { readonly kind: "preview"; readonly rowsMax: number }
);

/** What a running query is: `SELECT … INTO sink`. */
export interface AstContinuousQuery {
  readonly position: Position;
  readonly query: AstQuery;
  readonly sinks: readonly AstSink[];
  readonly settings: readonly AstSetting[];
}

/** `FROM CHECKPOINT 7 [FOR q]`: the state that a query begins with. */
export interface AstFromCheckpoint {
  readonly position: Position;
  readonly checkpoint: number;
  /** `undefined`: of the query that has its name. */
  readonly query: AstName | undefined;
}

export type ObjectKind =
  | "logical source"
  | "physical source"
  | "sink"
  | "view"
  | "query"
  | "worker";

/** What EXPLAIN can show: the plan as it is written, as it runs, and in parts. */
export const explainStages = ["LOGICAL", "OPTIMIZED", "STAGES", "ALL"] as const;

export type ExplainStage = (typeof explainStages)[number];

export interface AstExplain {
  readonly kind: "explain";
  /** Without any it is OPTIMIZED. */
  readonly stages: readonly ExplainStage[];
  readonly format: "text" | "json";
  /** Without INTO it has no sinks. */
  readonly query: AstContinuousQuery;
}

/** `PREVIEW SELECT … [LIMIT n]`: the rows of a query for whoever asks, for as long as they look. */
export interface AstPreview {
  readonly kind: "preview";
  /** The query, without sinks. */
  readonly query: AstContinuousQuery;
  /** `LIMIT n`. */
  readonly rowsMax: number | undefined;
}

export type Statement = { readonly position: Position; readonly text: string } & (
  | {
      readonly kind: "createLogicalSource";
      readonly name: AstName;
      readonly ifNotExists: boolean;
      readonly fields: readonly AstField[] | undefined;
      readonly watermark: AstWatermark | undefined;
      readonly query: AstQuery | undefined;
      /** The query as it is written. */
      readonly definition: string | undefined;
    }
  | {
      readonly kind: "createPhysicalSource";
      readonly logical: AstName;
      readonly ifNotExists: boolean;
      readonly type: AstName;
      readonly settings: readonly AstSetting[];
    }
  | {
      readonly kind: "createSink";
      readonly name: AstName;
      readonly ifNotExists: boolean;
      readonly fields: readonly AstField[] | undefined;
      readonly type: AstName;
      readonly settings: readonly AstSetting[];
    }
  | {
      readonly kind: "createView";
      readonly name: AstName;
      readonly ifNotExists: boolean;
      readonly query: AstQuery;
      /** The query as it is written. */
      readonly definition: string;
    }
  | {
      readonly kind: "createQuery";
      readonly name: AstName;
      readonly ifNotExists: boolean;
      /** CREATE OR REPLACE QUERY. */
      readonly replaces: boolean;
      readonly query: AstContinuousQuery;
      readonly from: AstFromCheckpoint | undefined;
    }
  | {
      readonly kind: "query";
      readonly query: AstContinuousQuery;
      readonly from: AstFromCheckpoint | undefined;
    }
  | {
      readonly kind: "createWorker";
      /** Its name, or `host:port`. */
      readonly name: AstName;
      readonly ifNotExists: boolean;
      readonly settings: readonly AstSetting[];
    }
  | AstExplain
  | AstPreview
  | {
      readonly kind: "drop";
      readonly object: ObjectKind;
      readonly name: AstName;
      readonly ifExists: boolean;
      /** `DROP SOURCE` means DROP LOGICAL SOURCE, and whoever answers says so. */
      readonly shorthand: boolean;
      /** How a query stops: `DROP QUERY q SOFT`. */
      readonly mode: "SOFT" | "HARD" | undefined;
      readonly settings: readonly AstSetting[];
    }
  | { readonly kind: "pause"; readonly name: AstName }
  | {
      readonly kind: "resume";
      readonly name: AstName;
      /** `RESUME QUERY q FROM CHECKPOINT 7`. */
      readonly checkpoint: number | undefined;
    }
  /** `CHECKPOINT QUERY q`: one that is kept. */
  | { readonly kind: "checkpoint"; readonly name: AstName }
  /** `DROP CHECKPOINT 7 FOR q`: it is kept no longer. */
  | {
      readonly kind: "dropCheckpoint";
      readonly checkpoint: number;
      readonly query: AstName;
      readonly ifExists: boolean;
    }
  | {
      readonly kind: "showCheckpoints";
      /** `SHOW CHECKPOINTS FOR q`; without any, those of all queries. */
      readonly query: AstName | undefined;
      readonly format: "text" | "json";
    }
  | {
      readonly kind: "show";
      readonly object: ObjectKind;
      /** `SHOW QUERY name`. */
      readonly name: AstName | undefined;
      /** `SHOW PHYSICAL SOURCES FOR source`. */
      readonly owner: AstName | undefined;
      /** `SHOW CREATE QUERY name`: the statement that makes it. */
      readonly asStatement: boolean;
      readonly where: AstExpr | undefined;
      readonly format: "text" | "json";
    }
);

/** A statement without its place and its text. */
export type StatementBody = Statement extends infer S
  ? S extends Statement
    ? Omit<S, "position" | "text">
    : never
  : never;
