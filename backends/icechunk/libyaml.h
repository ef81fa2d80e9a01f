/* libyaml, loaded when the first configuration in YAML is read. */
#pragma once

#include "base/lazy.h"

#include <yaml.h>

#define LIBYAML(F)                                                                                 \
	F(yaml_parser_initialize)                                                                  \
	F(yaml_parser_delete)                                                                      \
	F(yaml_parser_set_input_string) F(yaml_parser_parse) F(yaml_event_delete)

LAZY_DECLARE(libyaml, LIBYAML);

#define yaml_parser_initialize libyaml.yaml_parser_initialize
#define yaml_parser_delete libyaml.yaml_parser_delete
#define yaml_parser_set_input_string libyaml.yaml_parser_set_input_string
#define yaml_parser_parse libyaml.yaml_parser_parse
#define yaml_event_delete libyaml.yaml_event_delete
