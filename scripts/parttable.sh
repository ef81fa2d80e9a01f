#!/bin/sh
# parttable.sh FAMILY PART...: prints the C file that tables the parts of a family (codec, backend, view), in the order given; a part may be given with its folder
family=$1
shift
case $family in
codec) type=codec_ops header=codec/codec.h ;;
backend) type=zmap_ops header=store/zmap.h ;;
view) type=view_ops header=view/view.h ;;
*) echo "parttable.sh: no family '$family'" >&2; exit 2 ;;
esac
printf '#include "%s"\n\n' "$header"
for p in "$@"; do p=${p##*/}; printf 'extern const struct %s %s_%s;\n' "$type" "$family" "$p"; done
printf '\nconst struct %s *const %s_table[] = {\n' "$type" "$family"
for p in "$@"; do p=${p##*/}; printf '\t&%s_%s,\n' "$family" "$p"; done
printf '\t0,\n};\n'
