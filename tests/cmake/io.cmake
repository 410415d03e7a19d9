twinstep_test(unit_quantity SOURCES unit/quantity_test.cpp DEPENDS sim_io)
twinstep_test(unit_document SOURCES unit/document_test.cpp DEPENDS sim_io)
twinstep_test(unit_schema SOURCES unit/schema_test.cpp DEPENDS tests_schema)
