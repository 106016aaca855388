/** What the prompt needs to know of statements about streams: where they end. */
import "../error-codes.ts";

export { streamLanguage } from "../core/stream-text.ts";
