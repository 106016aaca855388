/** What statements are to those who register them. */
export { done, type LocalAnswer } from "./local-answer.ts";
export type {
  ParsedStatement,
  StatementHandler,
  StatementRequest,
  StreamedAnswer,
} from "./statement-handler.ts";
