/** What a process needs of the language before it plans anything: the codes of its errors. */
import "./core/error-codes.ts";
