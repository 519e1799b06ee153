//! A table as a Parquet file: a column of one type each, in which a value may be missing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use serde_json::Value;

use super::tables::{Kind, Table};
use super::{ExportError, write};

/// Writes `<table>.parquet`.
pub(super) fn file(table: &Table, out: &Path) -> std::result::Result<PathBuf, ExportError> {
    let path = out.join(format!("{}.parquet", table.name));
    let content = content(table).map_err(|source| ExportError::Columns {
        path: path.clone(),
        source,
    })?;
    write(&path, &content)?;
    Ok(path)
}

fn content(table: &Table) -> Result<Vec<u8>> {
    let fields: Result<Vec<TypePtr>> = table
        .columns()
        .map(|(name, kind)| field(name, kind))
        .collect();
    let schema = Type::group_type_builder(table.name).with_fields(fields?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(parquet::basic::ZstdLevel::default()))
        .set_created_by(format!("pibench-host {}", env!("CARGO_PKG_VERSION")));
    let mut writer = SerializedFileWriter::new(
        Vec::new(),
        Arc::new(schema.build()?),
        Arc::new(properties.build()),
    )?;
    let mut group = writer.next_row_group()?;
    for (name, kind) in table.columns() {
        let cells = || table.rows.iter().map(|row| &row[name]);
        match kind {
            Kind::Text => column::<ByteArrayType>(
                &mut group,
                cells().map(|cell| cell.as_str().map(ByteArray::from)),
            ),
            Kind::Whole => column::<Int64Type>(&mut group, cells().map(Value::as_i64)),
            Kind::Number => column::<DoubleType>(&mut group, cells().map(Value::as_f64)),
            Kind::Truth => column::<BoolType>(&mut group, cells().map(Value::as_bool)),
        }?;
    }
    group.close()?;
    writer.into_inner()
}

fn field(name: &str, kind: Kind) -> Result<TypePtr> {
    let (physical, logical) = match kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Whole => (Physical::INT64, None),
        Kind::Number => (Physical::DOUBLE, None),
        Kind::Truth => (Physical::BOOLEAN, None),
    };
    let field = Type::primitive_type_builder(name, physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(field.build()?))
}

/// Writes the next column: the values that there are, and at which rows.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let cells: Vec<Option<T::T>> = cells.collect();
    let there: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<T::T> = cells.into_iter().flatten().collect();
    let Some(mut column) = group.next_column()? else {
        return Ok(());
    };
    column
        .typed::<T>()
        .write_batch(&values, Some(&there), None)?;
    column.close()
}
