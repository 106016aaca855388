/**
 * Derived from TPC-C: its nine tables and five transactions in their shares, smaller (a tenth of
 * the items and customers, five lines an order), without think times, and with no result of one
 * statement in the next: what TPC-C's programs carry from statement to statement, statements here
 * look up. Its figures are not comparable with published ones. `scale` is warehouses.
 */
import { filled } from "../fill-table.ts";
import type { ReadyTemplate } from "./ready-template.ts";

const districts = 10;
const items = 10_000;
/** In each district. */
const customers = 100;
const orders = 100;

const w = { kind: "key", max: ":scale" };
const d = { kind: "key", max: districts };
const c = { kind: "key", distribution: "zipfian", max: customers };

/** Of the row with the number `i`: a number from 1 to `count` that changes every `before` rows. */
function place(before: number, count: number): string {
  const rest = before === 1 ? "(i - 1)" : `FLOOR((i - 1) / ${before}.0)`;
  return `CAST(${rest} % ${count} AS DECIMAL(12, 0)) + 1`;
}

function group(before: number): string {
  return `CAST(FLOOR((i - 1) / ${before}.0) AS DECIMAL(12, 0)) + 1`;
}

const tables = [
  "tpcc_warehouse (w_id INTEGER NOT NULL PRIMARY KEY, w_name VARCHAR(10), w_tax DECIMAL(4, 4), w_ytd DECIMAL(12, 2))",
  "tpcc_district (d_w_id INTEGER NOT NULL, d_id INTEGER NOT NULL, d_tax DECIMAL(4, 4), d_ytd DECIMAL(12, 2), d_next_o_id INTEGER NOT NULL, d_delivery_cnt INTEGER NOT NULL, PRIMARY KEY (d_w_id, d_id))",
  "tpcc_customer (c_w_id INTEGER NOT NULL, c_d_id INTEGER NOT NULL, c_id INTEGER NOT NULL, c_last VARCHAR(16), c_credit CHAR(2), c_discount DECIMAL(4, 4), c_balance DECIMAL(12, 2), c_ytd_payment DECIMAL(12, 2), c_payment_cnt INTEGER, c_delivery_cnt INTEGER, PRIMARY KEY (c_w_id, c_d_id, c_id))",
  "tpcc_history (h_w_id INTEGER NOT NULL, h_d_id INTEGER NOT NULL, h_c_id INTEGER NOT NULL, h_date TIMESTAMP, h_amount DECIMAL(6, 2))",
  "tpcc_item (i_id INTEGER NOT NULL PRIMARY KEY, i_name VARCHAR(24), i_price DECIMAL(5, 2))",
  "tpcc_stock (s_w_id INTEGER NOT NULL, s_i_id INTEGER NOT NULL, s_quantity INTEGER NOT NULL, s_ytd INTEGER NOT NULL, s_order_cnt INTEGER NOT NULL, PRIMARY KEY (s_w_id, s_i_id))",
  "tpcc_orders (o_w_id INTEGER NOT NULL, o_d_id INTEGER NOT NULL, o_id INTEGER NOT NULL, o_c_id INTEGER NOT NULL, o_entry_d TIMESTAMP, o_carrier_id INTEGER, PRIMARY KEY (o_w_id, o_d_id, o_id))",
  "tpcc_new_order (no_w_id INTEGER NOT NULL, no_d_id INTEGER NOT NULL, no_o_id INTEGER NOT NULL, PRIMARY KEY (no_w_id, no_d_id, no_o_id))",
  "tpcc_order_line (ol_w_id INTEGER NOT NULL, ol_d_id INTEGER NOT NULL, ol_o_id INTEGER NOT NULL, ol_number INTEGER NOT NULL, ol_i_id INTEGER NOT NULL, ol_quantity INTEGER, ol_amount DECIMAL(8, 2), ol_delivery_d TIMESTAMP, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))",
];

const wd = `${group(districts * customers)}, ${place(customers, districts)}`;

const target = {
  url: "postgres://localhost/postgres",
  table_name: "tpcc_orders",
  load_sql: [
    ...tables.map((table) => `DROP TABLE IF EXISTS ${table.split(" ", 1)[0]}`),
    ...tables.map((table) => `CREATE TABLE ${table}`),
    "CREATE INDEX tpcc_orders_by_customer ON tpcc_orders (o_w_id, o_d_id, o_c_id, o_id)",
    filled("tpcc_warehouse", "i, 'warehouse', 0.1, 0", 1),
    filled(
      "tpcc_district",
      `${group(districts)}, ${place(1, districts)}, 0.1, 0, ${orders + 1}, 0`,
      districts,
    ),
    filled(
      "tpcc_customer",
      `${wd}, ${place(1, customers)}, 'BAROUGHTABLE', 'GC', 0.05, -10, 10, 1, 0`,
      districts * customers,
    ),
    filled("tpcc_item", "i, 'an item of the catalogue', 1 + i % 100", items, { isScaled: false }),
    filled("tpcc_stock", `${group(items)}, ${place(1, items)}, 10 + i % 90, 0, 0`, items),
    filled(
      "tpcc_orders",
      `${wd}, ${place(1, orders)}, ${place(1, customers)}, CURRENT_TIMESTAMP, NULL`,
      districts * orders,
    ),
    `INSERT INTO tpcc_new_order SELECT o_w_id, o_d_id, o_id FROM tpcc_orders WHERE o_id > ${orders * 0.7}`,
    "INSERT INTO tpcc_order_line SELECT o_w_id, o_d_id, o_id, i_id, (o_id * 5 + i_id) % 10000 + 1, 5, 10 * i_id, NULL FROM tpcc_orders, tpcc_item WHERE i_id <= 5",
    { postgres: "ANALYZE", default: "" },
  ],
  reset_sql: [
    "DELETE FROM tpcc_history",
    `DELETE FROM tpcc_order_line WHERE ol_o_id > ${orders}`,
    `DELETE FROM tpcc_orders WHERE o_id > ${orders}`,
    "DELETE FROM tpcc_new_order",
    `INSERT INTO tpcc_new_order SELECT o_w_id, o_d_id, o_id FROM tpcc_orders WHERE o_id > ${orders * 0.7}`,
    `UPDATE tpcc_district SET d_next_o_id = ${orders + 1}, d_ytd = 0, d_delivery_cnt = 0`,
  ],
};

const inDistrict = "d_w_id = :w AND d_id = :d";
const oldest = "(SELECT min(no_o_id) FROM tpcc_new_order WHERE no_w_id = :w AND no_d_id = :d)";
const itemNames = ["i1", "i2", "i3", "i4", "i5"];
const itemList = itemNames.map((name) => `:${name}`).join(", ");
const item = { kind: "key", distribution: "zipfian", max: items };

const newOrder = {
  name: "new_order",
  kind: "INSERT",
  transaction: true,
  percent: 45,
  statements: [
    "SELECT c_discount, c_last, c_credit, w_tax FROM tpcc_customer, tpcc_warehouse WHERE w_id = :w AND c_w_id = :w AND c_d_id = :d AND c_id = :c",
    `UPDATE tpcc_district SET d_next_o_id = d_next_o_id + 1 WHERE ${inDistrict}`,
    `INSERT INTO tpcc_orders SELECT d_w_id, d_id, d_next_o_id - 1, c_id, CURRENT_TIMESTAMP, NULL FROM tpcc_district, tpcc_customer WHERE ${inDistrict} AND c_w_id = :w AND c_d_id = :d AND c_id = :c`,
    `INSERT INTO tpcc_new_order SELECT d_w_id, d_id, d_next_o_id - 1 FROM tpcc_district WHERE ${inDistrict}`,
    `UPDATE tpcc_stock SET s_quantity = CASE WHEN s_quantity >= 15 THEN s_quantity - 5 ELSE s_quantity + 86 END, s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = :w AND s_i_id IN (${itemList})`,
    `INSERT INTO tpcc_order_line SELECT d_w_id, d_id, d_next_o_id - 1, ROW_NUMBER() OVER (ORDER BY i_id), i_id, 5, 5 * i_price, NULL FROM tpcc_district, tpcc_item WHERE ${inDistrict} AND i_id IN (${itemList})`,
  ],
  parameters: { w, d, c, ...Object.fromEntries(itemNames.map((name) => [name, item])) },
};

const payment = {
  name: "payment",
  kind: "UPDATE",
  transaction: true,
  percent: 43,
  statements: [
    "UPDATE tpcc_warehouse SET w_ytd = w_ytd + :amount WHERE w_id = :w",
    `UPDATE tpcc_district SET d_ytd = d_ytd + :amount WHERE ${inDistrict}`,
    "UPDATE tpcc_customer SET c_balance = c_balance - :amount, c_ytd_payment = c_ytd_payment + :amount, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = :w AND c_d_id = :d AND c_id = :c",
    "INSERT INTO tpcc_history VALUES (:w, :d, :c, CURRENT_TIMESTAMP, :amount)",
  ],
  parameters: { w, d, c, amount: { kind: "integer", min: 1, max: 5000 } },
};

const orderStatus = {
  name: "order_status",
  kind: "POINT_LOOKUP",
  transaction: true,
  percent: 4,
  statements: [
    "SELECT c_balance, c_last FROM tpcc_customer WHERE c_w_id = :w AND c_d_id = :d AND c_id = :c",
    "SELECT o_id, o_entry_d, o_carrier_id FROM tpcc_orders WHERE o_w_id = :w AND o_d_id = :d AND o_c_id = :c ORDER BY o_id DESC LIMIT 1",
    "SELECT ol_i_id, ol_quantity, ol_amount, ol_delivery_d FROM tpcc_order_line WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id = (SELECT max(o_id) FROM tpcc_orders WHERE o_w_id = :w AND o_d_id = :d AND o_c_id = :c)",
  ],
  parameters: { w, d, c },
};

/** The district's row is taken first: two deliveries of one order cannot meet. */
const delivery = {
  name: "delivery",
  kind: "UPDATE",
  transaction: true,
  percent: 4,
  statements: [
    `UPDATE tpcc_district SET d_delivery_cnt = d_delivery_cnt + 1 WHERE ${inDistrict}`,
    `UPDATE tpcc_orders SET o_carrier_id = :carrier WHERE o_w_id = :w AND o_d_id = :d AND o_id = ${oldest}`,
    `UPDATE tpcc_order_line SET ol_delivery_d = CURRENT_TIMESTAMP WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id = ${oldest}`,
    `UPDATE tpcc_customer SET c_delivery_cnt = c_delivery_cnt + 1, c_balance = c_balance + (SELECT COALESCE(SUM(ol_amount), 0) FROM tpcc_order_line WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id = ${oldest}) WHERE c_w_id = :w AND c_d_id = :d AND c_id = (SELECT o_c_id FROM tpcc_orders WHERE o_w_id = :w AND o_d_id = :d AND o_id = ${oldest})`,
    // Twice in parentheses: MySQL reads no table that it deletes from, unless the answer is a table
    // of its own.
    "DELETE FROM tpcc_new_order WHERE no_w_id = :w AND no_d_id = :d AND no_o_id = (SELECT first_id FROM (SELECT min(no_o_id) AS first_id FROM tpcc_new_order WHERE no_w_id = :w AND no_d_id = :d) AS oldest)",
  ],
  parameters: { w, d, carrier: { kind: "integer", min: 1, max: 10 } },
};

const stockLevel = {
  name: "stock_level",
  kind: "RANGE_SCAN",
  transaction: false,
  percent: 4,
  statements: [
    `SELECT count(DISTINCT s_i_id) FROM tpcc_order_line JOIN tpcc_stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id >= (SELECT d_next_o_id - 20 FROM tpcc_district WHERE ${inDistrict}) AND s_quantity < :threshold`,
  ],
  parameters: { w, d, threshold: { kind: "integer", min: 10, max: 20 } },
};

export const tpccTemplate: ReadyTemplate = {
  template_id: "tpcc-derived",
  template_name: "TPC-C-derived",
  description:
    "New order, payment, order status, delivery and stock level as transactions of several statements; scale is warehouses. Not comparable with published TPC-C figures.",
  target,
  workload: {
    concurrent_connections: 8,
    operations: [newOrder, payment, orderStatus, delivery, stockLevel],
  },
};
