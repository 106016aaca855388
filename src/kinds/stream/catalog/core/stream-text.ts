/**
 * Which texts are statements about streams, and where they end (SC30). Their texts in single quotes
 * may have `\'`, and their names backticks, so that DuckDB's lexer would read them otherwise.
 */
import {
  duckdbRules,
  keywordOf,
  type OtherLanguage,
  scanStatement,
  scanTokens,
  type Token,
} from "../../../../data/sql/core/index.ts";

const objects = [
  "LOGICAL SOURCE",
  "PHYSICAL SOURCE",
  "SOURCE",
  "SINK",
  "VIEW",
  "QUERY",
  "WORKER",
] as const;

const plurals = objects.map((words) => (words === "QUERY" ? "QUERIES" : `${words}S`));

/** The first words of the statements; OR REPLACE behind CREATE does not count. */
export const streamHeads: readonly string[] = [
  ...objects.map((words) => `CREATE ${words}`),
  ...objects.map((words) => `DROP ${words}`),
  ...[...objects, ...plurals].map((words) => `SHOW ${words}`),
  ...objects.map((words) => `SHOW CREATE ${words}`),
  ...["LOGICAL", "OPTIMIZED", "STAGES", "ALL"].map((stage) => `EXPLAIN ${stage}`),
  "CHECKPOINT QUERY",
  "DROP CHECKPOINT",
  "SHOW CHECKPOINTS",
  "PAUSE QUERY",
  "RESUME QUERY",
  "PREVIEW",
];

const rules = { commentsNest: false, backticks: true, backslashes: true };
const heads: ReadonlySet<string> = new Set(streamHeads);
const headWordsMax = 4;

export const streamLanguage: OtherLanguage = {
  rules,
  takes(text) {
    const { tokens } = scanTokens(text, rules);
    if (hasStreamHead(tokens)) return true;
    const [first] = tokens;
    const mayHaveInto =
      first?.text === "(" || ["SELECT", "WITH", "EXPLAIN"].includes(keywordOf(tokens[0]));
    return mayHaveInto && hasTopLevelInto(tokens) && !isDuckDbs(text);
  },
};

/**
 * Whether DuckDB's lexer sees a statement without INTO that ends with its line: in `SELECT 'C:\\';`
 * the text ends there, and what follows is another statement.
 */
function isDuckDbs(text: string): boolean {
  const { tokens, unfinished } = scanStatement(text, 0, duckdbRules);
  const last = tokens.at(-1);
  if (unfinished !== undefined || last?.text !== ";" || hasTopLevelInto(tokens)) return false;
  return /^[ \t]*\n/.test(text.slice(last.position + 1));
}

/** Whether it shows rows for as long as somebody looks. */
export function isPreview(text: string): boolean {
  return keywordOf(scanTokens(text, rules).tokens[0]) === "PREVIEW";
}

/** Whether a statement only asks, so that a token that may only read may run it. */
export function onlyAsks(text: string): boolean {
  return ["SHOW", "EXPLAIN"].includes(keywordOf(scanTokens(text, rules).tokens[0]));
}

function hasStreamHead(tokens: readonly Token[]): boolean {
  const replaces = ["CREATE", "OR", "REPLACE"].every((word, at) => keywordOf(tokens[at]) === word);
  const words = Array.from({ length: headWordsMax }, (_, at) =>
    keywordOf(tokens[replaces && at > 0 ? at + 2 : at]),
  );
  return words.some((_, at) => heads.has(words.slice(0, at + 1).join(" ")));
}

/** Of the first statement of the text. */
function hasTopLevelInto(tokens: readonly Token[]): boolean {
  let depth = 0;
  for (const [at, { kind, text }] of tokens.entries()) {
    const sign = kind === "punctuation" ? text : "";
    if (sign === ";") return false;
    if (sign === "(") depth += 1;
    if (sign === ")") depth -= 1;
    if (depth === 0 && keywordOf(tokens[at]) === "INTO") return true;
  }
  return false;
}
