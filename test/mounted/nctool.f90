! nctool FILE: t(21, 11, 6) of a netCDF file, as Fortran counts.
program nctool
  use netcdf
  implicit none
  character(len=4096) :: path
  integer :: nc, id
  real :: value(1)
  call get_command_argument(1, path)
  call check(nf90_open(trim(path), nf90_nowrite, nc))
  call check(nf90_inq_varid(nc, "t", id))
  call check(nf90_get_var(nc, id, value, start=(/21, 11, 6/), count=(/1, 1, 1/)))
  write (*, '(f0.1)') value(1)
contains
  subroutine check(status)
    integer, intent(in) :: status
    if (status /= nf90_noerr) then
      write (0, *) trim(nf90_strerror(status))
      stop 1
    end if
  end subroutine
end program
