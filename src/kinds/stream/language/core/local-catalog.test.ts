import assert from "node:assert/strict";
import { test } from "node:test";
import { parseStatements } from "./parse/parse-statements.ts";
import { errorOf, exampleCatalog } from "./testing.ts";

function applyAll(text: string): void {
  const catalog = exampleCatalog();
  for (const statement of parseStatements(text)) catalog.apply(statement);
}

const errors = [
  ["[SY26]", "CREATE LOGICAL SOURCE BIDS(a UINT8)", 2031],
  ["[SY26]", "CREATE VIEW bids AS SELECT ts FROM asks", 2031],
  ["[SY26]", "CREATE SINK NAMED(a UINT8) TYPE Void", 2034],
  ["[SY26]", "CREATE PHYSICAL SOURCE FOR nosuch TYPE File", 2030],
  [
    "[SY26]",
    "CREATE PHYSICAL SOURCE FOR bids TYPE File SET('bids.csv' AS \"SOURCE\".FILE_PATH)",
    2031,
  ],
  ["[SY26]", "DROP LOGICAL SOURCE nosuch", 2030],
  ["[SY26]", "DROP SINK nosuch", 2033],
  ["[SY26]", "DROP SOURCE bids", 2029],
  [
    "[SY26]",
    "CREATE LOGICAL SOURCE x AS SELECT ts FROM bids; CREATE VIEW v AS SELECT ts FROM x; DROP SOURCE x",
    2029,
  ],
  ["[SY26]", "CREATE VIEW v AS SELECT nosuch FROM bids", 2003],
  ["[SY26]", "CREATE LOGICAL SOURCE x(a UINT8, A UINT8)", 2005],
  ["[SY27]", "CREATE SINK x TYPE Nosuch", 2016],
  ["[SY27]", "CREATE PHYSICAL SOURCE FOR bids TYPE Nosuch", 2017],
  ["[SY27]", "CREATE SINK x TYPE File", 1000],
  [
    "[SY27]",
    "CREATE SINK x TYPE File SET('a' AS \"SINK\".FILE_PATH, 'yes' AS \"SINK\".APPEND)",
    1000,
  ],
  ["[SY27]", 'CREATE SINK x TYPE Void SET(1 AS "SINK".NOSUCH)', 1000],
  ["[SY27]", "CREATE SINK x TYPE Print SET('XML' AS \"SINK\".OUTPUT_FORMAT)", 2036],
  [
    "[SY27]",
    'CREATE PHYSICAL SOURCE FOR bids TYPE TCP SET(\'h\' AS "SOURCE".SOCKET_HOST, 99999 AS "SOURCE".SOCKET_PORT)',
    1000,
  ],
  [
    "[SY27]",
    "CREATE PHYSICAL SOURCE FOR bids TYPE File SET('f' AS \"SOURCE\".FILE_PATH, 'XML' AS PARSER.\"TYPE\")",
    2021,
  ],
  [
    "[SY27]",
    "CREATE PHYSICAL SOURCE FOR bids TYPE File SET('f' AS \"SOURCE\".FILE_PATH, 'JSON' AS PARSER.\"TYPE\", '$.x' AS FIELD.nosuch)",
    1000,
  ],
] as const;
for (const [rule, text, number] of errors) {
  test(`${rule} ${text} is error ${number}`, () => {
    assert.equal(errorOf(() => applyAll(text)).number, number);
  });
}

test("[SY26] IF EXISTS and IF NOT EXISTS change nothing where there is nothing to do", () => {
  applyAll(
    "CREATE SINK IF NOT EXISTS named(a UINT8) TYPE Void; CREATE LOGICAL SOURCE IF NOT EXISTS bids(a UINT8); DROP SINK IF EXISTS nosuch; DROP VIEW IF EXISTS nosuch",
  );
  const catalog = exampleCatalog("CREATE SINK IF NOT EXISTS named(a UINT8) TYPE Void;");
  assert.equal(catalog.sink("NAMED")?.schema?.length, 2);
});

test("[SY26] a source is dropped after what it stands on", () => {
  const catalog = exampleCatalog();
  const [physical] = catalog.physicalSources("bids");
  for (const one of parseStatements(`DROP PHYSICAL SOURCE ${physical?.id}; DROP SOURCE bids`)) {
    catalog.apply(one);
  }
  assert.equal(catalog.logicalSource("bids"), undefined);
});

test("[SY27] defaults are filled in, escapes of delimiters are read, [SY5] both spellings", () => {
  const catalog = exampleCatalog(
    "CREATE LOGICAL SOURCE x(a UINT8); CREATE PHYSICAL SOURCE FOR x TYPE tcp SET('h' AS `SOURCE`.SOCKET_HOST, 50501 AS `SOURCE`.SOCKET_PORT, 'csv' AS PARSER.`TYPE`, '\\t' AS PARSER.FIELD_DELIMITER);",
  );
  const [source] = catalog.physicalSources("X");
  assert.equal(source?.type, "TCP");
  assert.deepEqual(source?.config, {
    RETRIES: 10,
    RETRY_INTERVAL: 1000,
    SOCKET_HOST: "h",
    SOCKET_PORT: 50501,
  });
  assert.equal(source?.parser.FIELD_DELIMITER, "\t");
  assert.equal(source?.parser.ON_MALFORMED, "fail");
  const sinks = exampleCatalog(
    "CREATE SINK a TYPE Print SET('JSON' AS \"SINK\".INPUT_FORMAT); CREATE SINK b TYPE Print SET('JSON' AS \"SINK\".OUTPUT_FORMAT);",
  );
  assert.deepEqual(sinks.sink("a")?.formatter, sinks.sink("b")?.formatter);
  assert.equal(sinks.sink("a")?.formatter.TYPE, "JSON");
});

test("[SY27] an unknown setting is answered with the nearest one", () => {
  const error = errorOf(() => applyAll("CREATE SINK x TYPE File SET('a' AS \"SINK\".FILE_PAHT)"));
  assert.match(error.hint ?? "", /FILE_PATH/);
});

test("[SY19] workers are made and dropped, and their settings are checked", () => {
  const apply = (text: string): void => {
    const catalog = exampleCatalog("CREATE WORKER w1;");
    for (const statement of parseStatements(text)) assert.ok(catalog.apply(statement));
  };
  apply("CREATE WORKER IF NOT EXISTS W1; DROP WORKER w1; CREATE WORKER w1");
  apply("CREATE WORKER 'a:1' SET(4 AS `WORKER`.NUM_SLOTS, 'w1' AS `WORKER`.PEERS)");
  assert.equal(errorOf(() => apply("CREATE WORKER W1")).number, 2029);
  const unknown = errorOf(() => apply("DROP WORKER w2"));
  assert.equal(unknown.number, 2302);
  assert.match(unknown.hint ?? "", /W1/);
  const wrong = errorOf(() => apply("CREATE WORKER w3 SET(4 AS `WORKER`.SLOTS)"));
  assert.equal(wrong.number, 1000);
  assert.match(wrong.hint ?? "", /NUM_SLOTS/);
});

test("[SY18] settings of NebulaStream that tune its engine are accepted", () => {
  applyAll(`CREATE PHYSICAL SOURCE FOR bids TYPE TCP SET('w:1' AS "SOURCE"."HOST", 'h' AS "SOURCE".SOCKET_HOST,
      5 AS "SOURCE".SOCKET_PORT, 65536 AS "SOURCE".SOCKET_BUFFER_SIZE, 100 AS "SOURCE".FLUSH_INTERVAL_MS,
      60 AS "SOURCE".CONNECT_TIMEOUT_SECONDS, 8 AS "SOURCE".MAX_INFLIGHT_BUFFERS);
    CREATE PHYSICAL SOURCE FOR twice TYPE Generator SET('CSV' AS INPUT_FORMATTER."TYPE",
      'FIXED' AS "SOURCE".GENERATOR_RATE_TYPE, 'emit_rate 1000' AS "SOURCE".GENERATOR_RATE_CONFIG,
      'SEQUENCE UINT64 0 1 1, SEQUENCE INT8 0 1 1' AS "SOURCE".GENERATOR_SCHEMA);
    CREATE SINK v TYPE Void SET('x.csv' AS "SINK".FILE_PATH, 'CSV' AS "SINK".OUTPUT_FORMAT)`);
  const sinus = `CREATE PHYSICAL SOURCE FOR twice TYPE Generator SET('SINUS' AS "SOURCE".GENERATOR_RATE_TYPE,
      'SEQUENCE UINT64 0 1 1, SEQUENCE INT8 0 1 1' AS "SOURCE".GENERATOR_SCHEMA)`;
  assert.equal(errorOf(() => applyAll(sinus)).number, 1000);
});
