/** The interface for kinds that register statements. */
export { done, type LocalAnswer } from "./local-answer.ts";
export type {
  LanguageHandler,
  ParsedStatement,
  StatementHandler,
  StatementRequest,
  StreamedAnswer,
} from "./statement-handler.ts";
