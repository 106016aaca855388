import { sqliteFixture } from "../../../ground/store/testing/fixtures.ts";
import { testLakeCatalog } from "./lake-catalog.contract.ts";

testLakeCatalog(sqliteFixture());
