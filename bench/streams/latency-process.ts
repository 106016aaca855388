/** Runs one query from a TCP source to a TCP sink; arguments: `INPUT_PORT OUTPUT_PORT SELECT`. */
import { openQuery } from "./stream-run.ts";

const [input, output, select] = process.argv.slice(2);
const address = (section: string, port: string | undefined): string =>
  `'127.0.0.1' AS "${section}".SOCKET_HOST, ${port} AS "${section}".SOCKET_PORT`;
const query = openQuery(`CREATE LOGICAL SOURCE made(id UINT64 NOT NULL, at UINT64 NOT NULL);
  CREATE PHYSICAL SOURCE FOR made TYPE TCP SET(${address("SOURCE", input)}, 'CSV' AS PARSER.TYPE);
  ${select} INTO TCP(${address("SINK", output)}, 'CSV' AS "SINK".OUTPUT_FORMAT);`);
await query.open();
await query.run();
