/** Statements about streams, for the router (SC30). Several in one text are a bundle (SC10). */
import { isBlank, splitStatements } from "../../../../data/sql/core/index.ts";
import type { LanguageHandler, ParsedStatement } from "../../../../data/statements/core/index.ts";
import { type OpenPreview, previewRowsDefault } from "../core/preview.ts";
import { isPreview, onlyAsks, streamHeads, streamLanguage } from "../core/stream-text.ts";
import type { CatalogRequest, StatementAnswer } from "../service/stream-catalog.ts";
import { answerOf, refuseQuestion } from "./answers.ts";
import { previewLines } from "./preview-lines.ts";

export type ExecuteRequest = (
  request: CatalogRequest,
  signal: AbortSignal,
) => Promise<readonly StatementAnswer[]>;

/** Whatever stands in a bundle is of this language. */
const wholeLanguage = { rules: streamLanguage.rules, takes: () => true };

export function createStreamStatements(
  execute: ExecuteRequest,
  openPreview: OpenPreview,
): LanguageHandler {
  return {
    heads: streamHeads,
    language: streamLanguage,
    parseText(text): ParsedStatement {
      const { statements, rest } = splitStatements(text, [wholeLanguage]);
      const all = isBlank(rest) ? statements : [...statements, rest];
      const [first = ""] = all;
      if (all.length === 1 && isPreview(first)) return previewStatement(first, openPreview);
      const question = all.length > 1 ? all.find(onlyAsks) : undefined;
      if (question !== undefined) throw refuseQuestion(question);
      return {
        role: all.every(onlyAsks) ? "read" : "operate",
        run: async ({ signal }) => answerOf(await execute({ statements: all }, signal)),
      };
    },
  };
}

/** It takes slots and opens sources, so the role `read` may not start one (SC60). */
function previewStatement(text: string, openPreview: OpenPreview): ParsedStatement {
  return {
    role: "operate",
    run: async ({ queryId, signal }) => {
      const opened = await openPreview({ text, rowsMax: previewRowsDefault }, signal);
      return { queryId, stream: previewLines(opened, queryId) };
    },
  };
}
